# SPDX-License-Identifier: Apache-2.0
"""Result of a linkage: the nearest records, with the scores of the fields and parts that make up a record's score."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from reprise.matcher.submission.metadata import JobMetadata

PRIOR = "any two jobs"
"""Name under which explanations show the prior of a log-odds model (the total before any value is compared)."""


@dataclass(frozen=True, slots=True)
class LinkableRecord:
    """Tuned job that a new job may be linked to.

    `created_at` is in Unix seconds. `gain` is 1 - tuned/default, the fraction that tuning saves of the default run time
    (or of another quantity that tuning reduced).

    `label`: a category that the caller assigns to the record (see `Asked.nearest_similar`). There should be few
    different labels. `more`: additional data from the caller, consisting of simple values and tuples.
    """

    id: int
    metadata: JobMetadata
    created_at: float
    gain: float
    label: Hashable = None
    more: tuple[Any, ...] = ()


class PartScore(NamedTuple):
    """Score of one part, with the new job's value (`left`) and the record's value (`right`), both convertible to JSON.

    `contribution` is added to the total; `weight` is the largest possible contribution. In a model with mean scoring,
    the weights of all parts sum to 1, and `contribution` is `weight` times `similarity`. In a model with log-odds
    scoring, `weight` and `contribution` are in bits.
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
    """Score of one field: the sum of its parts' scores.

    `similarity` is the mean of the parts' similarities, weighted by their positive weights, or unweighted if no weight
    is positive. `left` and `right` are the values of the field's part if the field has only one part, else None.
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
    """Record, its score for the new job (0 to 1), and the fields, from whose contributions the score is computed."""

    record: LinkableRecord
    score: float
    fields: tuple[FieldScore, ...]


@dataclass(frozen=True)
class Linkage:
    """Nearest records, best first, and the label (`thesis/1`) and threshold of the model that scored them."""

    model: str
    threshold: float
    matches: tuple[Match, ...]

    @property
    def best(self) -> Match | None:
        """Nearest record, whether it reaches the threshold or not; None if there are no records."""
        return self.matches[0] if self.matches else None
