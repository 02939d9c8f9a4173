# SPDX-License-Identifier: Apache-2.0
"""Record linkage: which tuned job a new job is like, how much, and why (docs/linkage.md)."""

from matcher.linkage.engine import Engine
from matcher.linkage.model import LinkageError, Model, load
from matcher.linkage.result import FieldScore, LinkableRecord, Linkage, Match, PartScore

__all__ = ["Engine", "FieldScore", "LinkableRecord", "Linkage", "LinkageError", "Match", "Model", "PartScore", "load"]
