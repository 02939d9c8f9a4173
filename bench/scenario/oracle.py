# SPDX-License-Identifier: Apache-2.0
"""Measure the gain of the best setting: the whole grid, then the best points again, then the best one in pairs."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.model.statistics import paired_gain

FINALISTS = 3
ROUNDS = 2
PAIRS = 3

Measure = Callable[[Parametrization], float]
"""Return the seconds of a run with this setting."""


def oracle_gain(
    space: Space, default: Parametrization, one: Measure, rng: random.Random, paired: Measure | None = None
) -> float:
    """Return the gain of the best point over the default, 0 if none is better.

    Every point runs once, in random order, and the first `FINALISTS` again in rounds. The best by its median then runs
    in pairs with the default, and only these count, because in the runs that chose it the best of many is partly luck.
    `paired`, if given, runs the pairs.
    """
    times = {number: [one(space.points[number])] for number in rng.sample(range(len(space.points)), len(space.points))}
    finalists = sorted(times, key=lambda number: times[number])[:FINALISTS]
    for _ in range(ROUNDS):
        for number in rng.sample(finalists, len(finalists)):
            times[number].append(one(space.points[number]))
    best = space.points[min(finalists, key=lambda number: statistics.median(times[number]))]
    pairs: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(PAIRS):
        for tuned in rng.sample((False, True), 2):
            pairs[tuned].append((paired or one)(best if tuned else default))
    return max(0.0, paired_gain(pairs[False], pairs[True])[0])
