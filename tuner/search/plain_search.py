# SPDX-License-Identifier: Apache-2.0
"""Searches without a model: every point in grid order or in random order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search import grid_points
from reprise.tuner.search.search_method import Key, OpenedSearch


class ListSearch(OpenedSearch):
    """A search that proposes the given points in order, skipping those that are observed or pending."""

    def __init__(
        self, space: Space, seed: int, points: Iterator[Parametrization], opening: Sequence[Parametrization] = ()
    ) -> None:
        super().__init__(space, seed, opening)
        self._rest = points
        # Points drawn from `points` that were not observed when `ask` was last called.
        self._seen: list[Parametrization] = []

    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        self._seen = [point for point in self._seen if self._space.key(point) not in self._told.observations]
        for point in self._seen:
            if self._space.key(point) not in taken:
                return point
        for point in self._rest:
            if self._space.key(point) not in self._told.observations:
                self._seen.append(point)
                if self._space.key(point) not in taken:
                    return point
        return None


def exhaustive(space: Space, seed: int, opening: Sequence[Parametrization]) -> ListSearch:
    """Return a search of every point in grid order."""
    return ListSearch(space, seed, grid_points.in_order(space), opening)


def random(space: Space, seed: int, opening: Sequence[Parametrization]) -> ListSearch:
    """Return a search of every point in random order: uniform random sampling without replacement."""
    return ListSearch(space, seed, grid_points.shuffled(space, np.random.default_rng(seed)), opening)
