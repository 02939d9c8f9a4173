# SPDX-License-Identifier: Apache-2.0
"""Pairs of jobs for a calibration; a pair is stored as one level of similarity for each part of a model.

Because similarities are rounded to LEVELS, many pairs have equal levels in all parts. Each such pattern of levels is
stored only once, with the number of pairs that have this pattern.
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
"""Values to which similarities are rounded; only a similarity of 1 (to within 1e-6) is rounded to the last level."""
UNKNOWN = -1
"""Level of a part whose value is unknown for one or both jobs."""

_BORDERS = np.append((LEVELS[1:-1] + LEVELS[:-2]) / 2, 1 - 1e-6)


@dataclass(frozen=True)
class Pairs:
    """Pairs of jobs, stored as patterns of similarity levels with the number of pairs that have each pattern.

    `patterns` (n x parts) has the levels of each pattern. `matched` and `others` (n) have the numbers of matching pairs
    and of other pairs with each pattern.

    If pairs are not labeled, `others` counts all pairs.
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
    """Merge several sets of pairs, and add up the counts of each pattern."""
    patterns, place = np.unique(np.concatenate([pairs.patterns for pairs in several]), axis=0, return_inverse=True)

    def summed(counts: list[Floats]) -> Floats:
        return np.asarray(np.bincount(place.ravel(), np.concatenate(counts), minlength=len(patterns)), np.float64)

    return Pairs(patterns, summed([pairs.matched for pairs in several]), summed([pairs.others for pairs in several]))


class Against:
    """Comparison of jobs with `records` by the parts of `model`; the model's weights are not used."""

    def __init__(self, model: Model, records: Iterable[LinkableRecord], *, cluster_nodes: int, timezone: str) -> None:
        """Prepare the records; the arguments are those of `matcher.linkage.Engine`."""
        self._zone = ZoneInfo(timezone) if timezone else None
        table = Table(model, cluster_nodes, self._zone)
        table.add(records)
        self._parts = table.freeze().parts
        self._features = [FEATURES[part.feature] for field in model.fields for part in field.parts]

    def levels(self, job: JobMetadata) -> Levels:
        """Return the levels of this job's pairs with all records (records x parts)."""
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
    """Return the level of each distinct value's similarity to the query.

    A similarity is computed exactly only if its upper and lower bounds are on different levels.
    """
    most, least = (_level(bound) for bound in view.bounds(query, None))
    for code in np.flatnonzero(most != least).tolist():
        most[code] = _level(view.similarity(query, code))
    return most


def _level(similarity: npt.ArrayLike) -> Levels:
    return np.asarray(np.searchsorted(_BORDERS, similarity, side="right"), np.int8)


def counted(levels: Levels, matches: npt.NDArray[np.bool_]) -> Pairs:
    """Count the patterns of labeled pairs, given each pair's levels (n x parts) and whether it matches."""
    return together([Pairs(levels, matches.astype(np.float64), (~matches).astype(np.float64))])
