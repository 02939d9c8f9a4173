# SPDX-License-Identifier: Apache-2.0
"""A steady-state genetic algorithm: each step makes one child from two tested points (Robert 2021, section 3.3.1).

The population is all observed points. A point's genes are its values, in the order of the parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from reprise.config import Section
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search import grid_points
from reprise.tuner.search.search_method import Key, OpenedSearch

Vector = npt.NDArray[np.float64]


class Settings(Section):
    """Settings of `genetic`."""

    selection: Literal["tournament", "probabilistic"] = Field(
        "tournament", description="method that selects the parents"
    )
    pool: int = Field(5, ge=1, description="number of points that compete in a tournament")
    crossover: Literal["single", "double", "n-point"] = Field("double", description="method that combines the parents")
    cuts: int = Field(3, ge=1, description="number of cuts of n-point crossover")
    mutation: float = Field(0.5, ge=0, le=1, description="probability that a child moves to a neighbor")
    elitism: bool = Field(False, description="always use the best point as the first parent")


class GeneticSearch(OpenedSearch):
    """A search that proposes a child of two points, or a neighbor of the child if the child is observed or pending."""

    def __init__(
        self, space: Space, seed: int, opening: Sequence[Parametrization] = (), settings: Settings | None = None
    ) -> None:
        super().__init__(space, seed, opening)
        self._settings = settings or Settings()

    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        rng = np.random.default_rng([self._seed, self._told.evaluations, len(pending)])
        if not self._told:
            return grid_points.free(self._space, taken, rng)
        values = np.array(self._told.pessimistic())
        points = [observation.point for observation in self._told.observations.values()]
        first, second = parents(values, self._settings, rng)
        child = crossed(self._space, points[first], points[second], self._settings, rng)
        if rng.random() < self._settings.mutation:
            child = grid_points.walk(self._space, child, rng)
        return child if self._space.key(child) not in taken else grid_points.wander(self._space, child, taken, rng)


def parents(values: Vector, settings: Settings, rng: np.random.Generator) -> tuple[int, int]:
    """Return the indexes of two parents, which differ if there are at least two points.

    In a tournament, the parents are the best points of two random pools that share no point. In probabilistic
    selection, they are drawn with the probabilities that `weights` returns. With elitism, the first parent is the best
    of all points.
    """
    if len(values) == 1:
        return 0, 0
    if settings.selection == "tournament":
        size = min(settings.pool, len(values) // 2)
        drawn = rng.permutation(len(values))[: 2 * size].reshape(2, size)
        first, second = (int(pool[values[pool].argmin()]) for pool in drawn)
    else:
        first, second = (int(index) for index in rng.choice(len(values), 2, replace=False, p=weights(values)))
    best = int(values.argmin())
    if settings.elitism and best != first:
        first, second = best, second if second != best else first
    return first, second


def weights(values: Vector) -> Vector:
    """Return each point's probability of being a parent, which falls linearly as its value rises.

    The formula is (worst - f) / (worst - best) + 1 / n, divided by the sum over all points. The added 1 / n gives even
    the worst point a chance. Robert 2021 has no formula for minimization.
    """
    spread = np.ptp(values)
    fitness: Vector = (values.max() - values) / (spread if spread > 0 else 1.0) + 1 / len(values)
    fitness /= fitness.sum()
    return fitness


def crossed(
    space: Space, first: Parametrization, second: Parametrization, settings: Settings, rng: np.random.Generator
) -> Parametrization:
    """Return a child with alternating segments of both parents between random cuts, moved to the nearest grid point.

    There are one, two or `cuts` cuts, but at most one between any two neighboring genes.
    """
    names = [parameter.name for parameter in space.parameters]
    wanted = {"single": 1, "double": 2, "n-point": settings.cuts}[settings.crossover]
    places = len(names) - 1
    cuts = set(rng.choice(places, min(wanted, places), replace=False) + 1) if places else set()
    child, giver, other = {}, first, second
    for number, name in enumerate(names):
        if number in cuts:
            giver, other = other, giver
        child[name] = giver[name]
    return grid_points.snap(space, child)
