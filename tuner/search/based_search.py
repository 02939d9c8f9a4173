# SPDX-License-Identifier: Apache-2.0
"""Searches that change single values of a base, which is the campaign's default."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

import numpy as np

from reprise.tuner.model.space import Parametrization, Space, Value
from reprise.tuner.search import grid_points
from reprise.tuner.search.search_method import Key, OpenedSearch


class BasedSearch(OpenedSearch):
    """A search that proposes points in an order that depends on its base, and then the remaining points at random.

    The base is the first observed point, moved to the grid, or the grid's first point if nothing was observed.
    """

    def __init__(self, space: Space, seed: int, opening: Sequence[Parametrization] = ()) -> None:
        super().__init__(space, seed, opening)
        self._base: Parametrization = space.canonical({axis.name: axis.values[0] for axis in space.parameters})
        self._first = self._base

    def tell(self, parametrization: Parametrization, value: float | None, *, censored: bool = False) -> None:
        """Record an evaluation; the first point becomes the base."""
        if not self._told.evaluations:
            self._base = grid_points.snap(self._space, parametrization)
            self._first = self._space.canonical(parametrization)
        super().tell(parametrization, value, censored=censored)

    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        for point in self._in_order(pending):
            if self._space.key(point) not in taken:
                return point
        return grid_points.free(self._space, taken, np.random.default_rng(self._seed))

    @abstractmethod
    def _in_order(self, pending: Sequence[Parametrization]) -> Iterator[Parametrization]:
        """Yield the points to propose, in order; those that were already tried are passed over."""

    def _changed(self, point: Parametrization, changes: Parametrization) -> Parametrization:
        """Return the grid point that results from changes to a point.

        A canonical point may have values that are not on the grid, for parameters that it ignores. They must not be
        combined with changes that bring these parameters into effect.
        """
        return grid_points.snap(self._space, {**point, **changes})

    def _single_values(self) -> list[tuple[str, Value]]:
        """Return the values other than the base's: the first of every axis, then the second, and so on."""
        columns = [
            [(axis.name, value) for value in axis.values if value != self._base[axis.name]]
            for axis in self._space.parameters
        ]
        return [one for row in zip_longest(*columns) for one in row if one is not None]
