# SPDX-License-Identifier: Apache-2.0
"""Record linkage: find the records of tuned jobs that are most similar to a new job, and score and explain them."""

from reprise.matcher.linkage.engine import Engine
from reprise.matcher.linkage.linkage_model import LinkageError, Model, load
from reprise.matcher.linkage.linkage_result import FieldScore, LinkableRecord, Linkage, Match, PartScore

__all__ = ["Engine", "FieldScore", "LinkableRecord", "Linkage", "LinkageError", "Match", "Model", "PartScore", "load"]
