# SPDX-License-Identifier: Apache-2.0
"""Record linkage: find the tuned jobs that are similar to a new job, score them, and explain why."""

from reprise.matcher.linkage.engine import Engine
from reprise.matcher.linkage.linkage_model import LinkageError, Model, load
from reprise.matcher.linkage.linkage_result import FieldScore, LinkableRecord, Linkage, Match, PartScore

__all__ = ["Engine", "FieldScore", "LinkableRecord", "Linkage", "LinkageError", "Match", "Model", "PartScore", "load"]
