# SPDX-License-Identifier: Apache-2.0
"""Pairs of jobs for a calibration: for each part of a model, the level of similarity.

Similarities are rounded to LEVELS, so that many pairs have the same pattern and are stored once, with their number.
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
"""Similarities after rounding; only 1 is rounded to the last."""
UNKNOWN = -1
"""Level of a part that is unknown in one job or both."""

_BORDERS = np.append((LEVELS[1:-1] + LEVELS[:-2]) / 2, 1 - 1e-6)


@dataclass(frozen=True)
class Pairs:
    """Patterns of pairs: `patterns` (n x parts) are levels, each row once; `matched` and `others` (n) are counts.

    If matches are unknown, `others` counts all pairs.
    """

    patterns: Levels
    matched: Floats
    others: Floats

    @property
    def counts(self) -> Floats:
        """Number of pairs of each pattern."""
        return self.matched + self.others

    @property
    def share(self) -> float:
        """Share of all pairs that match."""
        return float(self.matched.sum() / self.counts.sum())

    def times(self, weight: float) -> Pairs:
        """Return these pairs, each counted `weight` times."""
        return Pairs(self.patterns, self.matched * weight, self.others * weight)

    def without(self, parts: Collection[int]) -> Pairs:
        """Return these pairs with the given parts unknown in each of them."""
        patterns = self.patterns.copy()
        patterns[:, list(parts)] = UNKNOWN
        return together([Pairs(patterns, self.matched, self.others)])

    def unknown(self) -> Floats:
        """Return the share of pairs in which each part is unknown."""
        return np.asarray(np.average(self.patterns == UNKNOWN, axis=0, weights=self.counts), np.float64)


def together(several: Sequence[Pairs]) -> Pairs:
    """Merge pairs, adding up the counts of each pattern."""
    patterns, place = np.unique(np.concatenate([pairs.patterns for pairs in several]), axis=0, return_inverse=True)

    def summed(counts: list[Floats]) -> Floats:
        return np.asarray(np.bincount(place.ravel(), np.concatenate(counts), minlength=len(patterns)), np.float64)

    return Pairs(patterns, summed([pairs.matched for pairs in several]), summed([pairs.others for pairs in several]))


class Against:
    """Comparison of jobs with `records` in the parts of `model`; its weights do not matter."""

    def __init__(self, model: Model, records: Iterable[LinkableRecord], *, cluster_nodes: int, timezone: str) -> None:
        """Prepare the records; the arguments are those of `matcher.linkage.Engine`."""
        self._zone = ZoneInfo(timezone) if timezone else None
        table = Table(model, cluster_nodes, self._zone)
        table.add(records)
        self._parts = table.freeze().parts
        self._features = [FEATURES[part.feature] for field in model.fields for part in field.parts]

    def levels(self, job: JobMetadata) -> Levels:
        """Return the levels of the job and each record (records x parts)."""
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
    """Return the level of each distinct value's similarity, computed exactly if bounds leave it open."""
    most, least = (_level(bound) for bound in view.bounds(query, None))
    for code in np.flatnonzero(most != least).tolist():
        most[code] = _level(view.similarity(query, code))
    return most


def _level(similarity: npt.ArrayLike) -> Levels:
    return np.asarray(np.searchsorted(_BORDERS, similarity, side="right"), np.int8)


def counted(levels: Levels, matches: npt.NDArray[np.bool_]) -> Pairs:
    """Return pairs (n x parts) with known matches."""
    return together([Pairs(levels, matches.astype(np.float64), (~matches).astype(np.float64))])
