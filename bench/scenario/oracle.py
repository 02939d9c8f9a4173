# SPDX-License-Identifier: Apache-2.0
"""Measure the gain of the best setting of a grid: run all points, the best ones again, and the winner in pairs."""

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
"""A function that runs a setting once and returns the run time in seconds."""


def oracle_gain(
    space: Space, default: Parametrization, one: Measure, rng: random.Random, paired: Measure | None = None
) -> float:
    """Return the gain of the best point over the default, or 0 if no point is better.

    Every point runs once, in random order, and the `FINALISTS` fastest run again in rounds. The point with the best
    median then runs in pairs with the default. Only these pairs count, because the runs that led to the choice of this
    point may have been lucky. `one` measures a point. In the pairs, `paired` is used instead if it is given.
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
