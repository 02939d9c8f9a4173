# SPDX-License-Identifier: Apache-2.0
"""What the best setting would have gained an application: its whole grid measured, and the best ones again."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

from tuner.space import Parametrization, Space
from tuner.statistics import paired_gain

FINALISTS = 3
ROUNDS = 3

Measure = Callable[[Parametrization], float]
"""Seconds of a run with this setting."""


def oracle_gain(space: Space, default: Parametrization, one: Measure, rng: random.Random) -> float:
    """The gain over the default of the best point; 0 where none is better.

    Every point is run once, in random order. The best of so many single runs is partly luck: the first `FINALISTS` are
    run again beside the default, in rounds, and only that counts.
    """
    points = rng.sample(list(space.points), len(space.points))
    times = [one(point) for point in points]
    finalists = [points[index] for index in sorted(range(len(points)), key=lambda index: times[index])[:FINALISTS]]
    ways = [default, *finalists]
    again: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for number in rng.sample(range(len(ways)), len(ways)):
            again[number].append(one(ways[number]))
    best = min(again[1:], key=statistics.median)
    return max(0.0, paired_gain(again[0], best)[0])
