# SPDX-License-Identifier: Apache-2.0
"""Measure how close learned windows come to the best ones, on contexts that are drawn at random.

    .venv/bin/python -m bench.patterns.bandits [--seeds 5] [--contexts 40]

In each context, one of the eight windows is best, and each other one is 10 to 60 % worse. Bandwidths have noise of
10 %. A council with one forwarder starts without knowledge. The offline twin draws its rewards from 100 measurements of
each window.

The last line of output is a JSON object. For each learner, `after_100` is the mean bandwidth of decisions 101 to 200,
exploring included, divided by that of the best window: the mean over all contexts (`mean`), of the seed with the lowest
mean (`seed`) and of the worst context (`context`). `first_100` is the mean over the decisions before. `bandit_share` is
the lowest `seed` of the learners that the product offers; the bar is 0.95. `epsilon_without_budget` is the algorithm
of Bez 2020 except that windows never measured are explored first. It has the seven windows of the thesis, and
`precision` is its long-run share of decisions for the best window, which is 1 - eps + eps / 7 = 0.871 in theory.

`follow` has, for each learner, the median and the largest number of rounds until the vote follows a change: after 600
rounds, the shortest window becomes the worst one instead of the best one, and the vote must be for a window that is at
most 5 % worse than the new best one. Neighbours differ by a tenth of the best window's bandwidth.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean, median
from typing import Any

from reprise.matcher.council.access_pattern import Files, Operation, Pattern, Spatiality
from reprise.matcher.council.council_settings import EPSILON, THESIS_WINDOWS, WINDOWS, CouncilSettings, Learner
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.offline_twin import HOST, MEGABYTE, Rewards, best_window, play
from reprise.matcher.council.window_council import Council

PATTERN = Pattern(Operation.WRITE, Files.SHARED, Spatiality.STRIDED, "16K")
BEST = 200.0  # MB/s
WORSE = (0.10, 0.60)
NOISE = 0.10
MEASUREMENTS = 100  # of each window
SETTLED = 100  # decisions
DECISIONS = 2 * SETTLED
LONG_RUN = 20_000  # decisions; the standard error of the precision is 0.002
BEFORE_CHANGE = 600  # rounds
STEP = 0.1
NEAR = 0.95

PRODUCT: Mapping[str, CouncilSettings] = {learner.value: CouncilSettings(learner) for learner in Learner}
OF_THESIS = CouncilSettings(
    Learner.EPSILON,
    epsilon=EPSILON,
    first_epsilon=EPSILON,
    windows=THESIS_WINDOWS,
    default_window=THESIS_WINDOWS[0],
    caution=0,
    harm_share=1,
)


def drawn(rng: Random, windows: Sequence[int] = WINDOWS) -> Rewards:
    """Return measurements in MB/s of a random context, by window."""
    best = rng.choice(windows)
    means = {window: BEST * (1 - (0 if window == best else rng.uniform(*WORSE))) for window in windows}
    return {
        window: [max(1.0, mean * rng.gauss(1, NOISE)) for _ in range(MEASUREMENTS)] for window, mean in means.items()
    }


def shares(settings: CouncilSettings, seed: int, contexts: int) -> list[tuple[float, float]]:
    """Return, for each of some random contexts, the performance of the first 100 decisions and of the next 100."""
    rng = Random(seed)  # noqa: S311 - not used for security
    found = []
    for _ in range(contexts):
        rewards = drawn(rng, settings.windows)
        best = fmean(rewards[best_window(rewards)])
        gained = [choice.reward / best for choice in play(PATTERN, rewards, settings, DECISIONS, rng)]
        found.append((fmean(gained[:SETTLED]), fmean(gained[SETTLED:])))
    return found


def summary(by_seed: Sequence[Sequence[tuple[float, float]]]) -> dict[str, Any]:
    """Return the entry of a learner in the JSON object, from its shares in each context by seed."""
    later = [[after for _, after in one] for one in by_seed]
    return {
        "first_100": round(fmean(first for one in by_seed for first, _ in one), 3),
        "after_100": {
            "mean": round(fmean(map(fmean, later)), 3),
            "seed": round(min(map(fmean, later)), 3),
            "context": round(min(map(min, later)), 3),
        },
    }


def precision(decisions: int = LONG_RUN) -> float:
    """Return the share of decisions for the best window, in one long run after the windows are known."""
    rng = Random(1)  # noqa: S311 - not used for security
    best = OF_THESIS.windows[0]
    rewards = {window: [BEST if window == best else BEST / 2] for window in OF_THESIS.windows}
    choices = play(PATTERN, rewards, OF_THESIS, SETTLED + decisions, rng)[SETTLED:]
    return round(fmean(choice.window == best for choice in choices), 3)


def follow(settings: CouncilSettings, seed: int, most: int = 10_000) -> int:
    """Return the number of rounds until the vote follows a change, at most `most`."""
    rng = Random(seed)  # noqa: S311 - not used for security
    council = Council(settings, rng, [HOST])
    for now in range(BEFORE_CHANGE + most):
        changed = now >= BEFORE_CHANGE
        order = WINDOWS[::-1] if changed else WINDOWS
        means = {window: BEST * (1 - STEP * index) for index, window in enumerate(order)}
        rate = max(1.0, means[council.window] * rng.gauss(1, NOISE))
        council.round.receive(Report(HOST, PATTERN, round(rate * MEGABYTE), rate, council.window), now)
        council.decide()
        if changed and means[council.learned.window] >= NEAR * BEST:
            return now - BEFORE_CHANGE + 1
    return most


def followed(settings: CouncilSettings, seeds: int) -> dict[str, float]:
    """Return the entry of a learner in `follow`."""
    found = [follow(settings, seed) for seed in range(1, seeds + 1)]
    return {"median": median(found), "largest": max(found)}


def result(seeds: int = 5, contexts: int = 40, long_run: int = LONG_RUN) -> dict[str, Any]:
    """Return the JSON object."""
    learners = {
        name: summary([shares(settings, seed, contexts) for seed in range(1, seeds + 1)])
        for name, settings in {**PRODUCT, "epsilon_without_budget": OF_THESIS}.items()
    }
    return {
        "bandit_share": min(learners[name]["after_100"]["seed"] for name in PRODUCT),
        "learners": learners,
        "follow": {name: followed(settings, 3 * seeds) for name, settings in PRODUCT.items()},
        "precision": precision(long_run),
    }


def main() -> None:
    """Print the JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--contexts", type=int, default=40)
    arguments = parser.parse_args()
    sys.stdout.write(f"{json.dumps(result(arguments.seeds, arguments.contexts))}\n")


if __name__ == "__main__":
    main()
