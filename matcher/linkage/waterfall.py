# SPDX-License-Identifier: Apache-2.0
"""Waterfall: an explanation of a match's score that shows how much each field contributes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.linkage.linkage_result import PRIOR, FieldScore, Match, PartScore
from reprise.matcher.linkage.snapshot import Exact, Lines
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.stored_metadata import shown

Value = Callable[[JobMetadata, tzinfo | None], Any]


COARSE = ("levenshtein", "hamming", "options")
"""Comparers whose similarity depends on every letter of a text. `coarse_total` coarsens only the similarities of these
comparers; the other comparers compare numbers or whole words."""
NEARLY = 0.8
"""Smallest similarity at which a value counts as nearly equal; a less similar value counts as different. At 0.8, a user
who guesses must get four of five letters right by chance before the answer depends on them."""


class Layout:
    """Data that all explanations under a model share, such as the parts' names and the parts of each field."""

    def __init__(self, model: Model) -> None:
        parts = [part for field in model.fields for part in field.parts]
        self.values: list[Value] = [FEATURES[part.feature].of for part in parts]
        self.names = [(part.label, str(part.comparer)) for part in parts]
        curves = [curve for curves in model.curves() for curve in curves]
        self.coarse = [
            Lines(curve.similarities, curve.values) if part.comparer in COARSE else None
            for part, curve in zip(parts, curves, strict=True)
        ]
        self.preferred = [model.preferring(feature) for feature in model.prefer]
        self.offset = model.offset
        self.before: tuple[FieldScore, ...] = ()
        """Contains the prior as a separate field if the model has a prior; otherwise empty."""
        if model.prior is not None:
            self.before = (FieldScore(PRIOR, None, None, 0.0, 0.0, model.offset, ()),)
        self.fields: list[tuple[str, int, int]] = []
        first = 0
        for field in model.fields:
            self.fields.append((field.name, first, first + len(field.parts)))
            first += len(field.parts)


@dataclass(frozen=True)
class Waterfall:
    """Comparison of one record with one job, part by part, from which an explanation can be generated later.

    `weights`: the largest possible contribution of each part. `values`: the job's value for each part. `parts`: the
    similarity and contribution of each part.
    """

    layout: Layout
    weights: Sequence[float]
    values: Sequence[Any]
    parts: Sequence[Exact]
    match: Match
    zone: tzinfo | None

    def explained(self) -> Match:
        """Return the match with the scores of its fields filled in."""
        layout, record, zone = self.layout, self.match.record.metadata, self.zone
        parts = [
            PartScore(name, comparer, shown(left), shown(of(record, zone)), similarity, weight, contribution)
            for (name, comparer), of, left, weight, (similarity, contribution) in zip(
                layout.names, layout.values, self.values, self.weights, self.parts, strict=True
            )
        ]
        fields = [_field(name, tuple(parts[first:end])) for name, first, end in layout.fields]
        return dataclasses.replace(self.match, fields=(*layout.before, *fields))


def coarse_total(layout: Layout, parts: Sequence[Exact]) -> float:
    """Return the total if each value that a COARSE comparer compares counts only as equal, nearly equal or different.

    A coarse total does not reveal which of two wrong values is closer to a record's value. Users therefore cannot guess
    a record's texts letter by letter by submitting many jobs.
    """
    total = layout.offset
    for lines, (similarity, contribution) in zip(layout.coarse, parts, strict=True):
        if lines and similarity < 1.0 and contribution == lines.height(similarity):  # not equal if a value is unknown
            contribution = min(contribution, lines.height(NEARLY if similarity >= NEARLY else 0.0))
        total += contribution
    return total


def _field(name: str, parts: tuple[PartScore, ...]) -> FieldScore:
    if len(parts) == 1:
        _, _, left, right, similarity, weight, contribution = parts[0]
        return FieldScore(name, left, right, similarity, weight, contribution, parts)
    weights = [max(part.weight, 0.0) for part in parts]
    if not any(weights):
        weights = [1.0] * len(parts)
    return FieldScore(
        name=name,
        left=None,
        right=None,
        similarity=sum(w * part.similarity for w, part in zip(weights, parts, strict=True)) / sum(weights),
        weight=sum(part.weight for part in parts),
        contribution=sum(part.contribution for part in parts),
        parts=parts,
    )
