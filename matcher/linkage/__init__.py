# SPDX-License-Identifier: Apache-2.0
"""Record linkage: find the records of tuned jobs that are most similar to a new job, and score and explain them."""

from typing import TYPE_CHECKING

from reprise.lazy import lazily

if TYPE_CHECKING:
    from reprise.matcher.linkage.engine import Engine
    from reprise.matcher.linkage.linkage_model import LinkageError, Model, load
    from reprise.matcher.linkage.linkage_result import FieldScore, LinkableRecord, Linkage, Match, PartScore

__all__ = ["Engine", "FieldScore", "LinkableRecord", "Linkage", "LinkageError", "Match", "Model", "PartScore", "load"]

_OF_MODELS = dict.fromkeys(("LinkageError", "Model", "load"), "linkage_model")
_OF_RESULTS = dict.fromkeys(("FieldScore", "LinkableRecord", "Linkage", "Match", "PartScore"), "linkage_result")
__getattr__ = lazily(__name__, {"Engine": "engine", **_OF_MODELS, **_OF_RESULTS})
