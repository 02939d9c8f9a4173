# SPDX-License-Identifier: Apache-2.0
"""The two games of search methods on a landscape: get near the optimum, and choose well under noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bench.emulators.interference import PROFILES, Interference
from reprise.tuner.model.landscape import Landscape
from reprise.tuner.model.space import Parametrization, Space

INITIAL = 10  # points of the initial design, for every method that has one
NEAR = 1.05  # multiple of the mean of the optimum
BUDGET = 100  # evaluations of the first game (Robert 2021, section 4.2.2)
FAR = BUDGET + 1  # the result if the budget was not enough


class Driver(Protocol):
    """A search method in the games, ours or a peer."""

    def ask(self) -> Parametrization | None:
        """Return the next point to evaluate, None if there is none."""

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the value of a point."""

    def best(self) -> Parametrization:
        """Return the point that the method recommends after all observations."""


# (space, seed, total evaluations, noisy) -> a driver
Maker = Callable[[Space, int, int, bool], Driver]


def evaluations_until_near(make: Maker, landscape: Landscape, seed: int) -> int:
    """Return the number of evaluations until one was within 5 % of the optimum; FAR if none was.

    Every reported value is an evaluation, so points asked again count again. Values are the means of points.
    """
    driver = make(landscape.space, seed, BUDGET, False)
    near = NEAR * landscape.optimum[1]
    for evaluation in range(1, FAR):
        point = driver.ask()
        if point is None:
            break
        value = landscape.mean(point)
        if value <= near:
            return evaluation
        driver.tell(point, value)
    return FAR


@dataclass(frozen=True)
class Arena:
    """A noisy landscape: one of the samples at random, or the mean plus the cost of other jobs."""

    landscape: str
    budget: int
    interference: Interference | None = None


ARENAS: Mapping[str, Arena] = {
    "sbb-noise": Arena("sbb-noise", 160),
    **{f"sro-noise.{name}": Arena("sro-noise", 110, profile) for name, profile in PROFILES.items()},
}


def distance_under_noise(make: Maker, landscape: Landscape, arena: Arena, seed: int) -> float:
    """Return the percentage by which the recommended point's mean exceeds the best mean after the whole budget.

    There is no stop rule, so that all methods have the same budget (Robert 2021, AvgDistOpt of table 5.10).
    """
    driver = make(landscape.space, seed, arena.budget, True)
    rng = np.random.default_rng([seed, arena.budget])
    best = landscape.optimum[1]
    clock = rng.uniform(0, 300)
    for _ in range(arena.budget):
        point = driver.ask()
        if point is None:
            break
        value = landscape.draw(point, rng)
        if arena.interference:
            value += arena.interference.cost(clock, value, best, rng)
        clock += value
        driver.tell(point, value)
    return 100 * (landscape.mean(driver.best()) / best - 1)
