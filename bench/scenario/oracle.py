# SPDX-License-Identifier: Apache-2.0
"""What the best setting would have gained an application: its whole grid, the best ones again, the best in pairs."""

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
"""Seconds of a run with this setting."""


def oracle_gain(
    space: Space, default: Parametrization, one: Measure, rng: random.Random, paired: Measure | None = None
) -> float:
    """The gain over the default of the best point; 0 where none is better.

    Every point is run once, in random order, the first `FINALISTS` again in rounds; the best by its median is then run
    beside the default in pairs, and only these count: the best of many is partly luck, by the runs that chose it. The
    pairs are runs by `paired`, where that is given.
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
