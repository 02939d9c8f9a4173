# SPDX-License-Identifier: Apache-2.0
"""Pairs of jobs for a calibration, each stored as its level of similarity in each part of a model.

Similarities are rounded to LEVELS, which gives many pairs equal levels in all parts. Such a pattern is stored once,
with the number of its pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from reprise.matcher.linkage.columns import View
from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.linkage.record_table import Table
from reprise.matcher.submission.metadata import JobMetadata

Floats = npt.NDArray[np.float64]
Levels = npt.NDArray[np.int8]

LEVELS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
"""Similarities to which similarities are rounded; only 1 (to within 1e-6) is rounded to the last level."""
UNKNOWN = -1
"""Level of a part whose value is unknown in one job or in both."""

_BORDERS = np.append((LEVELS[1:-1] + LEVELS[:-2]) / 2, 1 - 1e-6)


@dataclass(frozen=True)
class Pairs:
    """Patterns of pairs, each with its number of pairs.

    `patterns` (n x parts) has the levels of each pattern. `matched` and `others` (n) have the number of matching pairs
    and of other pairs with each pattern.

    If no pair is known to match or not, `others` counts all pairs.
    """

    patterns: Levels
    matched: Floats
    others: Floats

    @property
    def counts(self) -> Floats:
        """Number of pairs with each pattern."""
        return self.matched + self.others

    @property
    def share(self) -> float:
        """Share of all pairs that match."""
        return float(self.matched.sum() / self.counts.sum())

    def times(self, weight: float) -> Pairs:
        """Return these pairs with all counts multiplied by `weight`."""
        return Pairs(self.patterns, self.matched * weight, self.others * weight)

    def without(self, parts: Collection[int]) -> Pairs:
        """Return these pairs with the given parts unknown in every pair."""
        patterns = self.patterns.copy()
        patterns[:, list(parts)] = UNKNOWN
        return together([Pairs(patterns, self.matched, self.others)])

    def unknown(self) -> Floats:
        """Return, for each part, the share of pairs in which the part is unknown."""
        return np.asarray(np.average(self.patterns == UNKNOWN, axis=0, weights=self.counts), np.float64)


def together(several: Sequence[Pairs]) -> Pairs:
    """Merge several sets of pairs, adding up the counts of each pattern."""
    patterns, place = np.unique(np.concatenate([pairs.patterns for pairs in several]), axis=0, return_inverse=True)

    def summed(counts: list[Floats]) -> Floats:
        return np.asarray(np.bincount(place.ravel(), np.concatenate(counts), minlength=len(patterns)), np.float64)

    return Pairs(patterns, summed([pairs.matched for pairs in several]), summed([pairs.others for pairs in several]))


class Against:
    """Comparison of jobs with `records` in the parts of `model`, whose weights are not used."""

    def __init__(self, model: Model, records: Iterable[LinkableRecord], *, cluster_nodes: int, timezone: str) -> None:
        """Prepare the records; the arguments are those of `matcher.linkage.Engine`."""
        self._zone = ZoneInfo(timezone) if timezone else None
        table = Table(model, cluster_nodes, self._zone)
        table.add(records)
        self._parts = table.freeze().parts
        self._features = [FEATURES[part.feature] for field in model.fields for part in field.parts]

    def levels(self, job: JobMetadata) -> Levels:
        """Return the levels of the pairs of this job and each record (records x parts)."""
        columns = []
        for feature, part in zip(self._features, self._parts, strict=True):
            view = part.view
            query = view.query(view.prepared(feature.of(job, self._zone)))
            if view.is_unknown(query):
                columns.append(np.full(len(part.codes), UNKNOWN, np.int8))
                continue
            of_distinct = _of_distinct(view, query)
            if (unknown := view.unknown()) >= 0:
                of_distinct[unknown] = UNKNOWN
            columns.append(of_distinct[part.codes])
        return np.stack(columns, axis=1)


def _of_distinct(view: View, query: Any) -> Levels:
    """Return the level of each distinct value's similarity; if the bounds have different levels, compute it exactly."""
    most, least = (_level(bound) for bound in view.bounds(query, None))
    for code in np.flatnonzero(most != least).tolist():
        most[code] = _level(view.similarity(query, code))
    return most


def _level(similarity: npt.ArrayLike) -> Levels:
    return np.asarray(np.searchsorted(_BORDERS, similarity, side="right"), np.int8)


def counted(levels: Levels, matches: npt.NDArray[np.bool_]) -> Pairs:
    """Return pairs from the levels (n x parts) of each pair and whether each pair matches."""
    return together([Pairs(levels, matches.astype(np.float64), (~matches).astype(np.float64))])
