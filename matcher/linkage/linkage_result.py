# SPDX-License-Identifier: Apache-2.0
"""The result of a linkage, and how its scores add up."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from reprise.matcher.submission.metadata import JobMetadata

PRIOR = "any two jobs"
"""Name of the field, in models of log-odds, for the prior: the total before anything is compared."""


@dataclass(frozen=True, slots=True)
class LinkableRecord:
    """A tuned job that a new job may be linked to. `created_at` is in Unix seconds; `gain` is 1 - tuned/default.

    `label`: the caller's category of the record (see `Asked.nearest_similar`); there should be few. `more`: data that
    is kept for the caller, plain values and tuples of them.
    """

    id: int
    metadata: JobMetadata
    created_at: float
    gain: float
    label: Hashable = None
    more: tuple[Any, ...] = ()


class PartScore(NamedTuple):
    """One comparison of a field: the new job's value (`left`) and the record's (`right`), both JSON-ready.

    `contribution` is added to the total; `weight` is the largest possible contribution. In a model of means the parts'
    weights sum to 1, and contribution is weight times similarity; in one of log-odds both are in bits.
    """

    name: str
    comparer: str
    left: Any
    right: Any
    similarity: float
    weight: float
    contribution: float

    def to_json(self) -> dict[str, Any]:
        """Return the part as a JSON object."""
        return {
            "name": self.name,
            "comparer": self.comparer,
            "left": self.left,
            "right": self.right,
            "similarity": self.similarity,
            "weight": self.weight,
            "contribution": self.contribution,
        }


class FieldScore(NamedTuple):
    """A field: the sum of its parts.

    Its similarity is the weighted mean over its parts, or their plain mean if no weight is positive. `left` and `right`
    are those of its part if it has only one, else None.
    """

    name: str
    left: Any
    right: Any
    similarity: float
    weight: float
    contribution: float
    parts: tuple[PartScore, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the field as a JSON object."""
        return {
            "name": self.name,
            "left": self.left,
            "right": self.right,
            "similarity": self.similarity,
            "weight": self.weight,
            "contribution": self.contribution,
            "parts": [part.to_json() for part in self.parts],
        }


@dataclass(frozen=True)
class Match:
    """A record with its score against the new job (0 to 1) and the fields that add up to it."""

    record: LinkableRecord
    score: float
    fields: tuple[FieldScore, ...]


@dataclass(frozen=True)
class Linkage:
    """The nearest records, best first. `model` is the label of the model that scored them (`thesis/1`)."""

    model: str
    threshold: float
    matches: tuple[Match, ...]

    @property
    def best(self) -> Match | None:
        """Nearest record, over the threshold or not; None if there is none."""
        return self.matches[0] if self.matches else None
