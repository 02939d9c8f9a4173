# SPDX-License-Identifier: Apache-2.0
"""A search for settings that act independently: it tries one change at a time, then all helpful changes together.

Trying all combinations of a dozen settings takes thousands of runs of an application, and modeling them takes dozens.
Settings of different components mostly affect different parts of the run time. So each setting is tried alone against
the default, and the settings that helped are tried together.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from reprise.tuner.model.space import Parametrization, Value
from reprise.tuner.search import grid_points
from reprise.tuner.search.based_search import BasedSearch

LEAST_EFFECTS = 8
"""Minimum number of measured single changes from which the noise of values without an effect is estimated."""
CLEAR = 1.3
"""Number of standard errors below the center at which a run counts as better; 90 % of a normal distribution lies above.
"""


class ScreeningSearch(BasedSearch):
    """A search that tries each value of each axis alone, then combines the values that helped.

    After the single changes, which alternate between the axes, the search proposes the combination of all changes that
    helped, and then, for each of these changes, the combination without it. Then it proposes the neighbors of the best
    point, and finally the remaining points in random order. A single change is made to the first observed point, which
    is a campaign's default (moved to the grid), or to the grid's first point if nothing was observed.
    """

    def _in_order(self, pending: Sequence[Parametrization]) -> Iterator[Parametrization]:
        yield from self._alone()
        helped = self._helped()
        if len(helped) > 1:
            yield self._with(helped)
            for name in reversed(helped):
                yield self._with({key: value for key, value in helped.items() if key != name})
        if self._told:
            seen = self._told.observations.values()
            best = min(seen, key=lambda one: math.inf if one.mean is None else one.mean)
            yield from grid_points.beside(self._space, best.point)

    def _alone(self) -> Iterator[Parametrization]:
        """Yield the base with one changed value: the first other value of each axis, then the second, and so on."""
        for name, value in self._single_values():
            yield self._with({name: value})

    def _helped(self) -> dict[str, Value]:
        """Return the best single change of each axis that improved on the base beyond noise, the best axis first."""
        limit = self._limit()
        found: dict[str, tuple[float, Value]] = {}
        for axis in self._space.parameters:
            for value in axis.values:
                mean = self._mean(self._with({axis.name: value}))
                if mean < found.get(axis.name, (limit,))[0]:
                    found[axis.name] = mean, value
        ranked = sorted(found.items(), key=lambda item: item[1][0])
        return {name: value for name, (_, value) in ranked}

    def _limit(self) -> float:
        """Return the value below which a single change counts as an improvement on the base.

        Most settings change nothing, so the runs of single changes show the noise. The limit lies 1.3 pseudo standard
        errors below the center of the runs that changed nothing (Lenth 1989, for unreplicated factorials). With normal
        noise, one in ten runs that change nothing is below the limit. An outlier among the few runs of the base does
        not move the limit. With fewer than `LEAST_EFFECTS` single changes, the limit is the base's lowest value, less
        half the range of the base's values.
        """
        seen = self._told.observations.get(self._space.key(self._first))
        base = seen.values if seen else []
        alone = [mean for point in self._alone() if math.isfinite(mean := self._mean(point))]
        if not base:
            return math.inf
        if len(alone) < LEAST_EFFECTS:
            return min(base) - (max(base) - min(base)) / 2
        centre, error = _centre_and_error(alone, base)
        return centre - CLEAR * error

    def _with(self, changes: dict[str, Value]) -> Parametrization:
        return self._changed(self._base, changes)

    def _mean(self, point: Parametrization) -> float:
        seen = self._told.observations.get(self._space.key(point))
        return math.inf if seen is None or seen.mean is None else seen.mean


def _centre_and_error(alone: Sequence[float], base: Sequence[float]) -> tuple[float, float]:
    """Return the center of the values without an effect, and their pseudo standard error (Lenth 1989, eq. 3 and 4)."""
    centre = statistics.median(base)
    near = 2.5 * _deviation(alone, centre)
    without_effect = [value for value in alone if abs(value - centre) <= near]
    centre = statistics.median([*without_effect, *base])
    return centre, _deviation(without_effect, centre)


def _deviation(values: Sequence[float], centre: float) -> float:
    """Estimate the standard deviation of normal values from the median of their distances to a center."""
    return 1.5 * statistics.median(abs(value - centre) for value in values)
