# SPDX-License-Identifier: Apache-2.0
"""A search that adds one change at a time to the best point so far.

An application affords only some ten runs, fewer than there are values to try. Trying each value alone, as `screening`
does, spends most of these runs on points that the search does not use again, and needs further runs for the
combinations. Here, each run keeps the changes that helped before, so the runs that find helpful changes also measure
them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from pydantic import Field

from reprise.config import Section
from reprise.tuner.errors import TunerError
from reprise.tuner.model.refuted_ranking import is_refuted
from reprise.tuner.model.space import Parametrization, Space, Value
from reprise.tuner.search import grid_points
from reprise.tuner.search.based_search import BasedSearch
from reprise.tuner.search.search_method import Observation

EFFECT = 0.2
"""Standard deviation of a change's effect before its first run, relative to the value of the base."""
NOISE = 0.03
"""Standard deviation of a run's noise, relative to the value of the base."""
SAME = 0.01
"""Points whose estimates differ by at most this share of the base's value count as equally good."""

Change = Mapping[str, Value]


class Settings(Section):
    """Settings of `stepwise`."""

    changes: list[dict[str, bool | int | float | str]] = Field(
        [],
        description="changes to try, in order; each sets one or more parameters (default: each value alone)",
    )
    otherwise: list[dict[str, bool | int | float | str]] = Field(
        [],
        description="changes to try instead if `changes` follow a ranking that the first runs refute: the first of the "
        "points to try first, the ranking's best, is worse than the second, its worst, or than the default",
    )
    tolerance: float = Field(
        0.0, ge=0, description="fraction by which the ranking's best point may be worse before `otherwise` is used"
    )


class StepwiseSearch(BasedSearch):
    """A search that tries each change on top of the best point so far.

    After the changes, the search proposes the combination of all changes that helped, the best point without one of its
    changes, the neighbors of the best point, and the remaining points in random order.
    """

    def __init__(
        self, space: Space, seed: int, opening: Sequence[Parametrization] = (), settings: Settings | None = None
    ) -> None:
        """Create the search. Raise TunerError if a change is not on the grid."""
        super().__init__(space, seed, opening)
        self._wanted: Sequence[Change] = settings.changes if settings else ()
        self._otherwise: Sequence[Change] = settings.otherwise if settings else ()
        self._tolerance = settings.tolerance if settings else 0.0
        for change in (*self._wanted, *self._otherwise):
            if not change.keys() <= self._base.keys() or not grid_points.holds(space, {**self._base, **change}):
                raise TunerError(f"search: changes: {dict(change)} is not a change on the grid: correct it")

    def _in_order(self, pending: Sequence[Parametrization]) -> Iterator[Parametrization]:
        effects = self._effects()
        best = self._best(effects)
        tried = [*pending, *(one.point for one in self._told.observations.values())]
        wanted = self._otherwise if self._otherwise and self._ranking_is_refuted() else self._wanted
        for change in wanted or [{name: value} for name, value in self._single_values()]:
            if not any(_has(point, change) for point in tried):
                point = self._with(best, change)
                if _has(point, change):
                    yield point
        yield self._helpful(effects)
        for name in self._changes(best):
            yield self._changed(best, {name: self._base[name]})
        yield from grid_points.beside(self._space, best)

    def _ranking_is_refuted(self) -> bool:
        """Return whether the ranking's best point, the first of the opening, is worse than its worst or the default."""
        seen = [self._told.observations.get(self._space.key(point)) for point in (*self._opening[:2], self._first)]
        means = [one.mean if one else None for one in seen]
        return bool(self._opening) and is_refuted(means[0], means[1:], self._tolerance)

    def _with(self, point: Parametrization, change: Change) -> Parametrization:
        """Return a point with a change.

        If a change that the point already has would suppress this one, the earlier change is undone.
        """
        whole = self._changed(point, change)
        if _has(whole, change):
            return whole
        return self._joined(change, self._changes(point).items())

    def _joined(self, change: Change, more: Iterable[tuple[str, Value]]) -> Parametrization:
        """Return the base with a change and, in order, all further values that are compatible with the earlier ones."""
        kept = change
        for name, value in more:
            both = {name: value, **kept}
            if _has(self._changed(self._base, both), both):
                kept = both
        return self._changed(self._base, kept)

    def _changes(self, point: Parametrization) -> dict[str, Value]:
        """Return the values in which a point differs from the base."""
        return {name: value for name, value in point.items() if value != self._base[name]}

    def _effects(self) -> Mapping[tuple[str, Value], float]:
        """Estimate the effect of each measured change, as a fraction of the base's value; negative effects are gains.

        The estimate is the posterior mean of a linear model in which the effects of a point's changes add up. The
        effects have independent normal priors with mean 0 and standard deviation EFFECT, and the mean of n runs has
        normal noise with variance NOISE²/n. A single lucky run is therefore not taken at face value.
        """
        seen = self._measured()
        changes = list(dict.fromkeys(item for one in seen for item in self._changes(one.point).items()))
        base = self._base_value(seen)
        if not changes or base is None:
            return {}
        scale = abs(base) or max(abs(_mean(one)) for one in seen) or 1.0
        design = np.array([[one.point[name] == value for name, value in changes] for one in seen], dtype=float)
        values = np.array([(_mean(one) - base) / scale for one in seen])
        weights = np.array([len(one.values) for one in seen]) / NOISE**2
        precision = design.T @ (weights[:, None] * design) + np.eye(len(changes)) / EFFECT**2
        found = np.linalg.solve(precision, design.T @ (weights * values))
        return dict(zip(changes, found.tolist(), strict=True))

    def _measured(self) -> list[Observation]:
        """Return the observations of points on the grid that have a value."""
        seen = self._told.observations.values()
        return [one for one in seen if one.values and grid_points.holds(self._space, one.point)]

    def _base_value(self, seen: Sequence[Observation]) -> float | None:
        """Return the first point's mean; without it, the mean of all points' means; None if no point has a value."""
        own = self._told.observations.get(self._space.key(self._first))
        if own is not None and own.values:
            return _mean(own)
        return float(np.mean([_mean(one) for one in seen])) if seen else None

    def _best(self, effects: Mapping[tuple[str, Value], float]) -> Parametrization:
        """Return the measured point with the fewest changes among those with the best estimates."""
        measured = [one.point for one in self._measured()]
        if not measured:
            return self._base
        estimates = [sum(effects[item] for item in self._changes(point).items()) for point in measured]
        close = [point for point, value in zip(measured, estimates, strict=True) if value <= min(estimates) + SAME]
        return min(close, key=lambda point: len(self._changes(point)))

    def _helpful(self, effects: Mapping[tuple[str, Value], float]) -> Parametrization:
        """Return the combination of all changes that helped; of two that exclude each other, the better one."""
        ranked = sorted(effects.items(), key=lambda item: item[1])
        return self._joined({}, [one for one, effect in ranked if effect < -SAME])


def _has(point: Parametrization, change: Change) -> bool:
    return all(point[name] == value for name, value in change.items())


def _mean(seen: Observation) -> float:
    return float(np.mean(seen.values))
