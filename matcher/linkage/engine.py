# SPDX-License-Identifier: Apache-2.0
"""The engine: every record scored against a new job, the nearest ones explained.

Columns are dictionary-encoded: each comparison runs once per distinct value of the records. A linkage costs the
comparisons of the distinct values, and one gather per part and record.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from matcher.linkage import comparers
from matcher.linkage.features import FEATURES, Kind
from matcher.linkage.model import (
    Absolute,
    Circular,
    Curve,
    LevenshteinPart,
    Model,
    ModelField,
    OptionsPart,
    Part,
    Ratio,
    SameSide,
    SoftTfIdfPart,
)
from matcher.linkage.result import PRIOR, FieldScore, LinkableRecord, Linkage, Match, PartScore
from matcher.metadata import JobMetadata

TOTAL_DECIMALS = 12
"""Totals are rounded to this, so that equal jobs score exactly 1 and ties do not hang on the order of a sum."""

Compare = Callable[[Any], float]


class Engine:
    """Links new jobs to `records` under `model`. Immutable; a change of the records takes a new engine.

    `cluster_nodes` is the largest difference of node counts that means anything (d_max). `timezone` is the name of the
    zone in which hours and days are read, "" for this host's.
    """

    def __init__(
        self, model: Model, records: Sequence[LinkableRecord], *, cluster_nodes: int, timezone: str = ""
    ) -> None:
        self.model = model
        self.records = tuple(records)
        self._zone: tzinfo | None = ZoneInfo(timezone) if timezone else None
        self._columns = [
            [
                _Column(part, curve, cluster_nodes, [self._value(part, record.metadata) for record in self.records])
                for part, curve in zip(field.parts, curves, strict=True)
            ]
            for field, curves in zip(model.fields, model.curves(), strict=True)
        ]
        # np.lexsort takes the last key first
        self._tie_break = (
            np.array([record.id for record in self.records], dtype=np.int64),
            np.array([-record.gain for record in self.records], dtype=np.float64),
            np.array([-record.created_at for record in self.records], dtype=np.float64),
        )

    def link(self, metadata: JobMetadata, k: int = 5, among: Container[int] | None = None) -> Linkage:
        """The `k` nearest records (of those whose id is in `among`, if given), best first.

        Ties: the newest record, then the largest gain, then the lowest id. Records outside `among` still count in the
        frequencies of path tokens.
        """
        compared = [
            [column.compare(self._value(column.part, metadata)) for column in columns] for columns in self._columns
        ]
        totals = np.full(len(self.records), self.model.offset)
        for columns, of_field in zip(self._columns, compared, strict=True):
            for column, of_part in zip(columns, of_field, strict=True):
                totals += of_part.contributions[column.codes]
        totals = np.round(totals, TOTAL_DECIMALS)
        matches: list[Match] = []
        for row in map(int, np.lexsort((*self._tie_break, -totals))):
            if len(matches) == k:
                break
            record = self.records[row]
            if among is None or record.id in among:
                fields = tuple(
                    self._explain(field, columns, of_field, metadata, row)
                    for field, columns, of_field in zip(self.model.fields, self._columns, compared, strict=True)
                )
                score = round(self.model.score(float(totals[row])), TOTAL_DECIMALS)
                matches.append(Match(record, score, self._before() + fields))
        return Linkage(self.model.label, self.model.threshold, tuple(matches))

    def _before(self) -> tuple[FieldScore, ...]:
        """What counts before anything is compared, as a field of its own."""
        if self.model.prior is None:
            return ()
        return (FieldScore(PRIOR, None, None, 0.0, 0.0, self.model.offset, ()),)

    def _value(self, part: Part, metadata: JobMetadata) -> Any:
        return FEATURES[part.feature].of(metadata, self._zone)

    def _explain(
        self,
        field: ModelField,
        columns: Sequence[_Column],
        compared: Sequence[_Compared],
        metadata: JobMetadata,
        row: int,
    ) -> FieldScore:
        parts = tuple(
            PartScore(
                name=column.part.label,
                comparer=column.part.comparer,
                left=_json_ready(self._value(column.part, metadata)),
                right=_json_ready(self._value(column.part, self.records[row].metadata)),
                similarity=float(of_part.similarities[column.codes[row]]),
                weight=column.curve.most,
                contribution=float(of_part.contributions[column.codes[row]]),
            )
            for column, of_part in zip(columns, compared, strict=True)
        )
        weight = sum(part.weight for part in parts)
        contribution = sum(part.contribution for part in parts)
        similarity = sum(part.weight * part.similarity for part in parts) / weight if weight else 0.0
        alone = parts[0] if len(parts) == 1 else None
        return FieldScore(
            name=field.name,
            left=alone.left if alone else None,
            right=alone.right if alone else None,
            similarity=similarity,
            weight=weight,
            contribution=contribution,
            parts=parts,
        )


def _json_ready(value: Any) -> Any:
    """Options have tuples for values; all other features are JSON's own."""
    return {key: list(values) for key, values in value.items()} if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class _Unknown:
    """Stands for an unknown number: it is like nothing, not even itself."""


@dataclass(frozen=True)
class _Compared:
    """A new job's value against each distinct value of a column: how alike, and what that adds."""

    similarities: npt.NDArray[np.float64]
    contributions: npt.NDArray[np.float64]


class _Column:
    """One part of the model over all records: the distinct prepared values, and each record's index into them."""

    def __init__(self, part: Part, curve: Curve, cluster_nodes: int, values: Sequence[Any]) -> None:
        self.part = part
        self.curve = curve
        self._prepare = _preparation(part)
        index: dict[Hashable, int] = {}
        prepared = [self._prepare(value) for value in values]
        self.codes = np.array([index.setdefault(value, len(index)) for value in prepared], dtype=np.intp)
        self._distinct = tuple(index)
        self._known = np.array([not _is_unknown(value) for value in self._distinct], dtype=np.bool_)
        self._against = _comparison(part, cluster_nodes, prepared)

    def compare(self, value: Any) -> _Compared:
        """`value` against each distinct value."""
        query = self._prepare(value)
        if isinstance(query, _Unknown):
            similarities = np.zeros(len(self._distinct))
        else:
            compare = self._against(query)
            known = (0.0 if isinstance(other, _Unknown) else compare(other) for other in self._distinct)
            similarities = np.fromiter(known, np.float64, len(self._distinct))
        contributions = np.interp(similarities, self.curve.similarities, self.curve.values)
        if self.curve.unknown is not None:
            known_both = self._known & (not _is_unknown(query))
            contributions = np.where(known_both, contributions, self.curve.unknown)
        return _Compared(similarities, contributions)


def _is_unknown(prepared: object) -> bool:
    return isinstance(prepared, _Unknown) or prepared in ("", ())


def _preparation(part: Part) -> Callable[[Any], Hashable]:
    """What is done to a value once, before any comparison."""
    if isinstance(part, LevenshteinPart) and part.clean:
        return comparers.clean
    if isinstance(part, SoftTfIdfPart):
        return partial(comparers.tokens, separators=part.separators)
    if isinstance(part, OptionsPart):
        return lambda value: frozenset((key, frozenset(values)) for key, values in value.items())
    if FEATURES[part.feature].kind is Kind.NUMBER:
        return lambda value: _Unknown() if value is None else value
    return lambda value: value


def _comparison(part: Part, cluster_nodes: int, prepared: Sequence[Any]) -> Callable[[Any], Compare]:
    """From a prepared query to its comparison with prepared values."""
    match part:
        case LevenshteinPart():
            return lambda query: partial(comparers.levenshtein, query)
        case SoftTfIdfPart():
            return comparers.SoftTfIdf(prepared, part.inner_threshold).against
        case OptionsPart():
            return lambda query: lambda other: comparers.options(dict(query), dict(other))
        case Circular():
            return lambda query: partial(comparers.circular, query, period=part.period)
        case SameSide():
            return lambda query: partial(comparers.same_side, query, start=part.start, end=part.end)
        case Ratio():
            return lambda query: partial(comparers.ratio, query)
        case Absolute():
            maximum = part.maximum or cluster_nodes
            return lambda query: partial(comparers.absolute, query, maximum=maximum)
        case _:
            return lambda query: partial(comparers.exact, query)
