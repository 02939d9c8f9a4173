# SPDX-License-Identifier: Apache-2.0
"""Games on landscapes with a needle, i.e. a few points that are far better than all others; a policy should find one.

A landscape has 36 points (12 algorithms, 3 sizes). A needle of 1 to 10 adjacent points is 10 to 90 % faster than the
others. The other points differ by at most 1 %, and runs vary by 2 %. The first 36 of 100 runs measure every point once
(the first ten are the initial design), and the other 64 are repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.tuner.games import INITIAL
from reprise.tuner import noise
from reprise.tuner.model.space import Parameter, Space
from reprise.tuner.noise import Evaluation

SPACE = Space((Parameter("algorithm", tuple("abcdefghijkl"), "category"), Parameter("size", (1, 2, 4), "log")))
WIDTHS, GAINS = range(1, 11), (0.1, 0.3, 0.5, 0.7, 0.9)
ALIKE, NOISE = 0.01, 0.02
BUDGET = 100


def found(policy: str, width: int, gain: float, seed: int) -> bool:
    """Play one game; return whether the policy recommends a point of the needle."""
    rng = np.random.default_rng([seed, width, round(100 * gain)])
    count = len(SPACE.points)
    means = 1 + ALIKE * rng.uniform(-0.5, 0.5, count)
    needle = (rng.integers(count) + np.arange(width)) % count
    means[needle] *= 1 - gain
    index = {SPACE.key(point): number for number, point in enumerate(SPACE.points)}
    resampling = noise.build(policy, SPACE, BUDGET, seed)
    history: list[Evaluation] = []

    def run(number: int) -> None:
        value = means[number] * float(np.exp(rng.normal(0, NOISE)))
        history.append(Evaluation(SPACE.points[number], value, initial=len(history) < INITIAL))

    for number in rng.permutation(count):
        run(int(number))
    while len(history) < BUDGET and (point := resampling.again(history, stopped=count)) is not None:
        run(index[SPACE.key(point)])
    winner = resampling.winner(history)
    return winner is not None and index[SPACE.key(winner)] in needle


def needle_found(policies: Sequence[str], seeds: int) -> dict[str, float]:
    """Return, by policy, the share of games in which the policy recommends a point of the needle.

    The games are those with all widths, gains and seeds.
    """
    games = [(width, gain, seed) for width in WIDTHS for gain in GAINS for seed in range(seeds)]
    return {policy: round(sum(found(policy, *game) for game in games) / len(games), 4) for policy in policies}
