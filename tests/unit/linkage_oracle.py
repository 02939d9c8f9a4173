# SPDX-License-Identifier: Apache-2.0
"""A simple linkage that scores every record, one comparison after the other; the engine's results must be the same."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import tzinfo
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from reprise.matcher.linkage import LinkableRecord, Model, comparers
from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.linkage.linkage_model import (
    Absolute,
    Circular,
    Curve,
    HammingPart,
    LevenshteinPart,
    OptionsPart,
    Part,
    Ratio,
    SameSide,
    SoftTfIdfPart,
)
from reprise.matcher.submission.metadata import JobMetadata

Scored = tuple[int, float, tuple[tuple[float, float], ...]]
"""A record's id, its score, and each part's similarity and contribution."""


def tokens(text: str, separators: str) -> comparers.Tokens:
    """Return the parts of `text` between separators, in order and without empty parts."""
    for separator in separators[1:]:
        text = text.replace(separator, separators[0])
    return tuple(token for token in text.split(separators[0]) if token)


class Oracle:
    """A simple linkage of records that do not change, with the same method `link` as `matcher.linkage.Engine`."""

    def __init__(self, model: Model, records: Sequence[LinkableRecord], *, cluster_nodes: int, timezone: str) -> None:
        self._model = model
        self._records = records
        self._cluster_nodes = cluster_nodes
        self._zone: tzinfo = ZoneInfo(timezone)
        self._parts = [
            (part, curve)
            for field, curves in zip(model.fields, model.curves(), strict=True)
            for part, curve in zip(field.parts, curves, strict=True)
        ]

    def link(self, job: JobMetadata, k: int, among: Container[int] | None = None) -> list[Scored]:
        totals = []
        for record in self._records:
            if among is None or record.id in among:
                parts = tuple(self._compare(part, curve, job, record.metadata) for part, curve in self._parts)
                total = self._model.offset
                for _, contribution in parts:
                    total += contribution
                total = round(total, 12)
                score = round(self._model.score(total), 12)
                order = (self._rank(job, record.metadata, score), -total, -record.created_at, -record.gain, record.id)
                totals.append((order, score, parts))
        nearest = sorted(totals, key=lambda one: one[0])[:k]
        return [(order[-1], score, parts) for order, score, parts in nearest]

    def _rank(self, job: JobMetadata, record: JobMetadata, score: float) -> tuple[bool, ...]:
        """Return the first part of a record's sort key, which puts records that reach the threshold first.

        Among these records, those whose preferred features equal the job's come first.
        """
        if score < self._model.threshold:
            return (True,)
        values = [[FEATURES[name].of(one, self._zone) for one in (job, record)] for name in self._model.prefer]
        return (False, *(left != right or left in (None, "") for left, right in values))

    def _compare(self, part: Part, curve: Curve, job: JobMetadata, record: JobMetadata) -> tuple[float, float]:
        left, right = (self._prepared(part, metadata) for metadata in (job, record))
        similarity = 0.0 if left is None or right is None else self._similarity(part, left, right)
        if curve.unknown is not None and any(value is None or value in ("", ()) for value in (left, right)):
            return similarity, curve.unknown
        return similarity, float(np.interp(similarity, curve.similarities, curve.values))

    def _prepared(self, part: Part, metadata: JobMetadata) -> Any:
        value = FEATURES[part.feature].of(metadata, self._zone)
        if isinstance(part, LevenshteinPart) and part.clean:
            value = comparers.clean(value)
        if isinstance(part, LevenshteinPart | SoftTfIdfPart) and not part.digits:
            value = comparers.without_digits(value)
        if isinstance(part, SoftTfIdfPart):
            return tokens(value, part.separators)
        if isinstance(part, OptionsPart):
            return {key: frozenset(values) for key, values in value.items()}
        return value

    def _similarity(self, part: Part, left: Any, right: Any) -> float:
        if isinstance(part, SoftTfIdfPart):
            corpus = [self._prepared(part, record.metadata) for record in self._records]
            return comparers.SoftTfIdf.of(corpus, part.inner_threshold).against(left)(right)
        return float(_comparer(part, self._cluster_nodes)(left, right))


def _comparer(part: Part, cluster_nodes: int) -> Any:
    match part:
        case LevenshteinPart():
            return comparers.levenshtein
        case HammingPart():
            return comparers.hamming
        case OptionsPart():
            return comparers.options
        case Circular():
            return partial(comparers.circular, period=part.period)
        case SameSide():
            return partial(comparers.same_side, start=part.start, end=part.end)
        case Ratio():
            return comparers.ratio
        case Absolute():
            return partial(comparers.absolute, maximum=part.maximum or cluster_nodes)
        case _:
            return comparers.exact
