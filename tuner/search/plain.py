# SPDX-License-Identifier: Apache-2.0
"""Searches without a model: every point in grid order, or in random order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.search.base import Told
from tuner.space import Parametrization, Space


class ListSearch:
    """Asks the given points in order, without those that were told."""

    def __init__(self, space: Space, points: Sequence[Parametrization]) -> None:
        self._told = Told(space)
        self._points = points

    def ask(self) -> Parametrization | None:
        return next((point for point in self._points if point not in self._told), None)

    def tell(self, parametrization: Parametrization, value: float | None) -> None:
        self._told.tell(parametrization, value)


def exhaustive(space: Space) -> ListSearch:
    """Every point, in grid order."""
    return ListSearch(space, space.points)


def random(space: Space, seed: int) -> ListSearch:
    """Every point, in random order: uniform random sampling without replacement."""
    order = np.random.default_rng(seed).permutation(len(space.points))
    return ListSearch(space, [space.points[index] for index in order])
