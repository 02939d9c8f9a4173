# SPDX-License-Identifier: Apache-2.0
"""One Gaussian process for all problems of a family, so that results at one message size help at neighboring sizes.

The problems have the same parameters and differ in their contexts: numbers such as a message size or a node count. The
model's input is a point, in a form that all problems share, and the context of its problem. The model's output is the
point's value divided by that of the problem's default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from reprise.tuner.model.space import Parametrization, Space, same
from reprise.tuner.search import surrogate
from reprise.tuner.search.encoding import axes, categories, encode
from reprise.tuner.search.gaussian_process import LIES, GaussianProcessSearch, Model, Settings, Vector
from reprise.tuner.search.search_method import Observation
from reprise.tuner.search.value_scale import truncated_mean, warp

Context = Mapping[str, float]
Common = Callable[[Parametrization], Parametrization]  # converts a problem's point to the form that its family shares

# number of cached fits: the problems of a family take turns, and each needs a model that is fitted to the same data
KEPT_FITS = 16


@dataclass(frozen=True)
class Evaluated:
    """One evaluation of a problem of the family.

    `point` is in the form that the family shares. `ratio` is the value divided by the mean of the problem's default; it
    is None if the evaluation failed, and a lower bound if `censored`.
    """

    point: Parametrization
    ratio: float | None
    censored: bool = False


@dataclass(frozen=True)
class Relative:
    """Another problem of the family, and its evaluations.

    `context` has positive numbers, with the same names in all problems of the family.
    """

    context: Context
    evaluations: Sequence[Evaluated] = ()


@dataclass
class _Rows:
    """Training rows of the model: one for each point of each problem."""

    points: list[Parametrization] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    measured: list[bool] = field(default_factory=list)
    censored: list[bool] = field(default_factory=list)
    own: list[bool] = field(default_factory=list)

    def add(self, observations: Sequence[Observation], context: Context, own: bool) -> None:
        """Add a problem's observations; a failed point counts with the problem's worst value.

        `own`: the problem is the one that is searched, not a relative.
        """
        known = [v for seen in observations for v in (seen.mean, seen.bound) if v is not None]
        for seen in observations:
            value = seen.mean if seen.mean is not None else seen.bound
            if value is None and not known:
                continue
            self.points.append(seen.point)
            self.contexts.append(context)
            self.values.append(max(known) if value is None else value)
            self.counts.append(max(1, len(seen.values)))
            self.measured.append(bool(seen.values))
            self.censored.append(seen.bound is not None)
            self.own.append(own)


class SharedSearch(GaussianProcessSearch):
    """A search like `gp-ei`, but with one model for the problem and its relatives; `relate` sets the relatives."""

    def __init__(
        self, space: Space, seed: int, opening: Sequence[Parametrization] = (), settings: Settings | None = None
    ) -> None:
        super().__init__(space, seed, opening, settings)
        self.relate({}, 1.0, ())

    def relate(self, context: Context, reference: float, relatives: Sequence[Relative], common: Common = same) -> None:
        """Set this problem's context, reference and relatives.

        `reference` is the mean of the problem's default, in the unit of the observations. `common` converts this
        problem's points to the form that the family shares; by default, they stay unchanged.
        """
        self._context, self._reference, self._relatives, self._common = context, reference, relatives, common

    def _encoded(self, points: Sequence[Parametrization]) -> Vector:
        return encode(self._space, [self._common(point) for point in points])

    def _model(self, pending: Sequence[Parametrization]) -> tuple[Model, float]:
        """Return the model of all problems' observations, and the lowest mean that it predicts for a measured point.

        The model is restricted to predictions for this problem's context, and only this problem's points count as
        measured.
        """
        rows = self._rows(pending)
        contexts = _Contexts([*rows.contexts, self._context])
        matrix = contexts.joined(encode(self._space, rows.points), rows.contexts)
        z = warp(np.array(rows.values), self._settings.values)
        counts = np.array(rows.counts, dtype=float)
        measured, censored = np.array(rows.measured), np.array(rows.censored)
        known = contexts.axes(self._space)
        if censored.any() and measured.any():
            others = _fit(matrix[~censored], z[~censored], counts[~censored], *known, self._settings.kernel)
            z[censored] = truncated_mean(*others.predict(matrix[censored]), z[censored])
        model = _InContext(_fit(matrix, z, counts, *known, self._settings.kernel), contexts.row(self._context))
        own = measured & np.array(rows.own)
        best = encode(self._space, [rows.points[index] for index in np.flatnonzero(own if own.any() else rows.own)])
        return model, float(model.predict(best)[0].min())

    def _rows(self, pending: Sequence[Parametrization]) -> _Rows:
        """Return the training rows, sorted by context, so that all problems of a family can share a cached fit."""
        rows = _Rows()
        mine = [
            _relative_to(self._reference, seen, self._common(seen.point)) for seen in self._told.observations.values()
        ]
        blocks = [(self._context, mine, True)]
        for relative in self._relatives:
            blocks.append((relative.context, _observations(self._space, relative.evaluations), False))
        for context, observations, own in sorted(blocks, key=lambda block: sorted(block[0].items())):
            rows.add(observations, context, own)
        values = [value for value, own in zip(rows.values, rows.own, strict=True) if own]
        lies = Observation({}, [LIES[self._settings.lie](values)])
        rows.add([Observation(self._common(point), lies.values) for point in pending], self._context, own=True)
        rows.measured[len(rows.measured) - len(pending) :] = [False] * len(pending)
        return rows


class _Contexts:
    """The contexts as columns of logarithms, scaled to [0, 1]; a number that is equal in all contexts has no column."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        logs = {name: [math.log2(context[name]) for context in contexts] for name in contexts[0]}
        self._ranges = {name: (min(values), max(values)) for name, values in logs.items() if len(set(values)) > 1}

    def row(self, context: Context) -> list[float]:
        return [(math.log2(context[name]) - low) / (high - low) for name, (low, high) in self._ranges.items()]

    def joined(self, matrix: Vector, contexts: Sequence[Context]) -> Vector:
        columns = np.array([self.row(context) for context in contexts]).reshape(len(contexts), len(self._ranges))
        return np.hstack([matrix, columns])

    def axes(self, space: Space) -> tuple[Vector, Vector]:
        """Return the axis of each column, and whether each axis is a category."""
        of_points, kinds = axes(space), categories(space)
        more = np.arange(len(self._ranges))
        return np.concatenate([of_points, len(kinds) + more]), np.concatenate([kinds, np.zeros(len(more), bool)])


@dataclass(frozen=True)
class _InContext:
    """A model of points and contexts that is restricted to predictions for one context."""

    model: surrogate.Surrogate
    context: Sequence[float]

    def predict(self, wanted: Vector) -> tuple[Vector, Vector]:
        return self.model.predict(np.hstack([wanted, np.tile(np.array(self.context), (len(wanted), 1))]))


def _relative_to(reference: float, seen: Observation, point: Parametrization) -> Observation:
    values, bounds = ([value / reference for value in some] for some in (seen.values, seen.bounds))
    return Observation(point, values, bounds, seen.failures)


def _observations(space: Space, evaluations: Sequence[Evaluated]) -> list[Observation]:
    """Return the evaluations of another problem as observations, one for each point.

    The points are not made canonical, since points that are equivalent in one problem may differ in another.
    """
    found: dict[tuple[object, ...], Observation] = {}
    for one in evaluations:
        key = tuple(one.point[parameter.name] for parameter in space.parameters)
        observation = found.setdefault(key, Observation(one.point))
        if one.ratio is None:
            observation.failures += 1
        else:
            (observation.bounds if one.censored else observation.values).append(one.ratio)
    return list(found.values())


_Array = tuple[bytes, str, tuple[int, ...]]  # an array's content, type and shape, as a dictionary key


def _fit(
    points: Vector, values: Vector, counts: Vector, axes: Vector, categories: Vector, kernel: str
) -> surrogate.Surrogate:
    return _fitted(tuple(map(_frozen, (points, values, counts, axes, categories))), kernel)


@lru_cache(maxsize=KEPT_FITS)
def _fitted(arrays: tuple[_Array, ...], kernel: str) -> surrogate.Surrogate:
    points, values, counts, axes, categories = map(_array, arrays)
    return surrogate.fit(points, values, counts, axes, categories, kernel)


def _frozen(array: Vector) -> _Array:
    return array.tobytes(), array.dtype.str, array.shape


def _array(frozen: _Array) -> Any:
    data, dtype, shape = frozen
    return np.frombuffer(data, dtype).reshape(shape)
