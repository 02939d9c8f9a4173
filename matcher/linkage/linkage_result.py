# SPDX-License-Identifier: Apache-2.0
"""The result of a linkage, and how its score came about."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from reprise.matcher.submission.metadata import JobMetadata

PRIOR = "any two jobs"
"""Name of the field, in models of log-odds, that stands for what counts before anything is compared."""


@dataclass(frozen=True, slots=True)
class LinkableRecord:
    """A tuned job that a new job may be linked to. `created_at` in Unix seconds; `gain` is 1 - tuned/default.

    `label` is whatever records are told apart by besides (see `Asked.nearest_similar`); there should not be many.
    `more` is kept with the record for the caller: plain values, and tuples of them.
    """

    id: int
    metadata: JobMetadata
    created_at: float
    gain: float
    label: Hashable = None
    more: tuple[Any, ...] = ()


class PartScore(NamedTuple):
    """One comparison of a field: the new job's value (`left`), the record's (`right`), both JSON-ready.

    `contribution` is what this adds to the total, `weight` the most that it could add. In a model of means the parts'
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
    """A field: the sum of its parts; its similarity is their mean by weight (equal ones where none has any).

    `left` and `right` as in PartScore, where the field has a value of its own.
    """

    name: str
    left: Any
    right: Any
    similarity: float
    weight: float
    contribution: float
    parts: tuple[PartScore, ...]

    def to_json(self) -> dict[str, Any]:
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
    """A record with its score against the new job (0 to 1) and the fields that make it up."""

    record: LinkableRecord
    score: float
    fields: tuple[FieldScore, ...]


@dataclass(frozen=True)
class Linkage:
    """The nearest records, best first; empty where there are none. `model` is what scored them (`thesis/1`)."""

    model: str
    threshold: float
    matches: tuple[Match, ...]

    @property
    def best(self) -> Match | None:
        """The nearest record, over the threshold or not."""
        return self.matches[0] if self.matches else None
