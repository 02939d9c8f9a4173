# SPDX-License-Identifier: Apache-2.0
"""How the score of a match came about, field by field."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from matcher.linkage.features import FEATURES
from matcher.linkage.model import Model, ModelField
from matcher.linkage.result import PRIOR, FieldScore, Match, PartScore
from matcher.linkage.snapshot import Exact


@dataclass(frozen=True)
class Waterfall:
    """One record against one job: of each part of the model the most that it can add (`weights`), the job's value, and
    how alike the record's is and what that adds (`parts`)."""

    model: Model
    weights: Sequence[float]
    values: Sequence[Any]
    parts: Sequence[Exact]
    match: Match
    zone: tzinfo | None

    def explained(self) -> Match:
        """The match with its fields."""
        fields = []
        first = 0
        for field in self.model.fields:
            fields.append(self._explain(field, first))
            first += len(field.parts)
        return dataclasses.replace(self.match, fields=(*self._before(), *fields))

    def _before(self) -> tuple[FieldScore, ...]:
        """What counts before anything is compared, as a field of its own."""
        if self.model.prior is None:
            return ()
        return (FieldScore(PRIOR, None, None, 0.0, 0.0, self.model.offset, ()),)

    def _explain(self, field: ModelField, first: int) -> FieldScore:
        """`first` is the number of the field's first part among those of all fields."""
        parts = []
        for number, part in enumerate(field.parts, first):
            similarity, contribution = self.parts[number]
            parts.append(
                PartScore(
                    name=part.label,
                    comparer=part.comparer,
                    left=_json_ready(self.values[number]),
                    right=_json_ready(FEATURES[part.feature].of(self.match.record.metadata, self.zone)),
                    similarity=similarity,
                    weight=self.weights[number],
                    contribution=contribution,
                )
            )
        if len(parts) == 1:
            alone = parts[0]
            return FieldScore(
                field.name, alone.left, alone.right, alone.similarity, alone.weight, alone.contribution, (alone,)
            )
        weights = [max(part.weight, 0.0) for part in parts]
        if not any(weights):
            weights = [1.0] * len(parts)
        return FieldScore(
            name=field.name,
            left=None,
            right=None,
            similarity=sum(w * part.similarity for w, part in zip(weights, parts, strict=True)) / sum(weights),
            weight=sum(part.weight for part in parts),
            contribution=sum(part.contribution for part in parts),
            parts=tuple(parts),
        )


def _json_ready(value: Any) -> Any:
    """Options have tuples for values; all other features are JSON's own."""
    if value is None or isinstance(value, str | int | float):
        return value
    return {key: list(values) for key, values in value.items()} if isinstance(value, Mapping) else value
