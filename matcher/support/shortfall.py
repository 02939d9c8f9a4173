# SPDX-License-Identifier: Apache-2.0
"""Smallest changes with which a job below the threshold would have matched the nearest record.

The changes are computed from a decision's fields, without another comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from reprise.database.entities import Decision
from reprise.matcher.linkage.linkage_result import PRIOR

if TYPE_CHECKING:
    from reprise.matcher.linkage.linkage_model import Curve, Model

    Curves = Mapping[str, Sequence[Curve]]  # by field name, the curves of the field's parts

TOLERANCE = 1e-12  # scores are rounded to 12 decimals
ALL_OR_NOTHING = ("exact", "same-side")  # comparers whose similarity is always 0 or 1
USER = "user"  # name of the user's field in models
Field = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """A field that must be more similar for a match, with its `similarity` and the minimum similarity `needed`.

    `needed` is 1.0 (equal values) also if it is unknown whether a lower similarity is sufficient. This is unknown for a
    field with several parts in a model with log-odds scoring, or if the model that made the decision is not available.
    """

    field: str
    similarity: float
    needed: float


@dataclass(frozen=True)
class Shortfall:
    """The changes with which a job would have matched.

    `missing` is the difference between threshold and total, as a score or in bits; it is infinite if the threshold
    cannot be reached. Each change in `alone` is sufficient by itself; the smallest comes first. If there is no such
    change, `together` has the smallest set of changes that are sufficient if all are made. Both are empty if even equal
    values in all fields are not sufficient.
    """

    missing: float
    alone: tuple[Change, ...]
    together: tuple[Change, ...]


def in_bits(fields: Sequence[Field]) -> bool:
    """Return whether the fields come from a model that adds log-odds in bits, and whose score is a probability."""
    return bool(fields) and fields[0]["name"] == PRIOR


def shortfall(decision: Decision, model: Model | None = None) -> Shortfall | None:
    """Return the changes needed to match the nearest record; None if there was no record or the score was sufficient.

    `model` is the model in force. If it also made the decision, the similarity that is needed is read from its curves.
    """
    if decision.score is None or decision.score >= decision.threshold or not decision.fields:
        return None
    bits = in_bits(decision.fields)
    total = sum(field["contribution"] for field in decision.fields)
    missing = (_bits(decision.threshold) if bits else decision.threshold) - total
    curves = _curves(model) if model and model.label == decision.model else {}
    gains = [(field, _gain(field, bits, curves)) for field in decision.fields if field["parts"]]
    gains = sorted(((field, gain) for field, gain in gains if gain > TOLERANCE), key=lambda pair: -pair[1])
    alone = [_change(field, missing, bits, curves) for field, gain in gains if gain >= missing - TOLERANCE]
    alone.sort(key=lambda change: change.needed - change.similarity)
    if alone:
        return Shortfall(missing, tuple(alone), ())
    together = _together(gains, missing, bits, curves)
    without_user = _together([pair for pair in gains if pair[0]["name"] != USER], missing, bits, curves)
    if 0 < len(without_user) <= len(together):  # a user cannot change the user name
        together = without_user
    return Shortfall(missing, (), together)


def _curves(model: Model) -> Curves:
    return {field.name: curves for field, curves in zip(model.fields, model.curves(), strict=True)}


def _bits(score: float) -> float:
    """Return the log-odds of a score, in bits. The result equals `Model.total`, but no model is needed."""
    return math.copysign(math.inf, score - 0.5) if not 0 < score < 1 else -math.log2(1 / score - 1)


def _together(gains: Sequence[tuple[Field, float]], missing: float, bits: bool, curves: Curves) -> tuple[Change, ...]:
    """Return the fewest changes that reach the threshold, with the largest gains first.

    The last change is the smallest that suffices; all others are changes to equal values.
    """
    changes: list[Change] = []
    for field, gain in gains:
        if gain >= missing - TOLERANCE:
            return (*changes, _change(field, missing, bits, curves))
        changes.append(Change(field["name"], field["similarity"], 1.0))
        missing -= gain
    return ()


def _gain(field: Field, bits: bool, curves: Curves) -> float:
    """Return how much larger the field's contribution would be if the job had the record's values."""
    found: Sequence[Curve | None] = curves.get(field["name"]) or [None] * len(field["parts"])
    pairs = zip(field["parts"], found, strict=True)
    return sum(_at_best(part, bits, curve) - float(part["contribution"]) for part, curve in pairs)


def _at_best(part: Field, bits: bool, curve: Curve | None) -> float:
    """Return what a part would contribute if the values were equal; a value unknown in the record cannot be equal."""
    if part["right"] is None or (bits and part["right"] == ""):
        return float(part["contribution"])
    return curve.values[-1] if curve else float(part["weight"])


def _change(field: Field, missing: float, bits: bool, curves: Curves) -> Change:
    """Return the change of a field to the least similarity that adds `missing`; equal values must add at least that."""
    parts, similarity = field["parts"], float(field["similarity"])
    needed = 1.0
    if all(part["comparer"] in ALL_OR_NOTHING for part in parts):
        pass
    elif not bits:  # with mean scoring, a field contributes its similarity times its weight
        needed = min(1.0, similarity + missing / field["weight"])
    elif len(parts) == 1 and (found := curves.get(field["name"])):
        needed = _reaches(found[0], similarity, field["contribution"] + missing)
    return Change(field["name"], similarity, needed)


def _reaches(curve: Curve, start: float, value: float) -> float:
    """Return the least similarity >= `start` at which the curve reaches `value`; the curve's end must reach `value`."""
    points = list(zip(curve.similarities, curve.values, strict=True))
    for (x0, y0), (x1, y1) in pairwise(points):
        if x1 < start or max(y0, y1) < value:
            continue
        x = x0 if y0 >= value else x0 + (value - y0) / (y1 - y0) * (x1 - x0)
        if x >= start:
            return x
        if y0 + (start - x0) / (x1 - x0) * (y1 - y0) >= value:
            return start
    return 1.0
