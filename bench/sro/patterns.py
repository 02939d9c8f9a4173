# SPDX-License-Identifier: Apache-2.0
"""Measure the Small Read Optimizer's gains on four patterns of reads, with its default and with tuned settings.

"Tuned" means the best point of the pattern's stored landscape (`make landscapes-sro`), measured again. Each round runs
all patterns in three ways, in random order: without the accelerator, with its default settings, and with its tuned
settings. Only runs of the same round are compared, and runs of the search, which may have been lucky, do not count. The
file is never in the page cache when a run begins. Each gain is 1 - tuned/other, where `other` is the time in one of the
other two ways; it is computed from pairs and has 95 % bounds.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.small_reads import PATTERNS, Run, SmallReadsError, cold_run, machine, place_data
from bench.sro.disk_landscapes import path_of
from reprise.tuner.model.landscape import load
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.statistics import paired_gain

NONE, DEFAULT, TUNED = WAYS = ("none", "default", "tuned")
BAR = 0.2

Times = Mapping[str, Mapping[str, Sequence[float]]]
"""Run times in seconds by pattern and way (`WAYS`), as lists with one element per round."""


def settings(patterns: Sequence[str]) -> dict[str, dict[str, Parametrization | None]]:
    """Return {pattern: {way: setting}} for the ways "none", "default" and "tuned" (the best setting of the landscape).

    Raises LandscapeError if a landscape is missing.
    """
    found: dict[str, dict[str, Parametrization | None]] = {}
    for pattern in patterns:
        landscape = load(path_of(pattern, full=False))
        found[pattern] = {NONE: None, DEFAULT: landscape.default, TUNED: landscape.optimum[0]}
    return found


def measure(
    ways: Mapping[str, Mapping[str, Parametrization | None]],
    rounds: int,
    one: Callable[[str, Parametrization | None], Run],
    seed: int = 1,
) -> Times:
    """Run the rounds and return the times. Raises SmallReadsError if the accelerator changed the data read."""
    times: dict[str, dict[str, list[float]]] = {pattern: {way: [] for way in WAYS} for pattern in ways}
    checksums: dict[str, str] = {}
    rng = random.Random(seed)  # noqa: S311 - not used for security
    tasks = [(pattern, way) for pattern in ways for way in WAYS]
    for number in range(rounds):
        for pattern, way in rng.sample(tasks, len(tasks)):
            run = one(pattern, ways[pattern][way])
            if checksums.setdefault(pattern, run.checksum) != run.checksum:
                raise SmallReadsError(f"pattern {pattern}, {way}: different bytes were read: the accelerator is broken")
            times[pattern][way].append(run.seconds)
        sys.stderr.write(f"round {number + 1} of {rounds}\n")
    return times


def told(times: Times, ways: Mapping[str, Mapping[str, Parametrization | None]]) -> dict[str, Any]:
    """Return the results for JSON: times and gains by pattern, and how many patterns gain `BAR` or more if tuned."""
    patterns: dict[str, Any] = {}
    for pattern, own in times.items():
        of: dict[str, Any] = {f"{way}_s": round(statistics.median(own[way]), 3) for way in WAYS}
        for name, other, better in (
            ("over_none", NONE, TUNED),
            ("over_default", DEFAULT, TUNED),
            ("default_over_none", NONE, DEFAULT),
        ):
            of[name] = [round(value, 4) for value in paired_gain(own[other], own[better])]
        patterns[pattern] = of | {"tuned": dict(ways[pattern][TUNED] or {})}
    faster = sum(of["over_none"][0] >= BAR for of in patterns.values())
    return {"patterns": patterns, "faster": faster, "rounds": len(next(iter(times.values()))[NONE])}


def patterns(rounds: int) -> dict[str, Any]:
    """Measure the patterns; return all results, and how many patterns gain 20 % or more if tuned, over no accelerator.

    Raises SmallReadsError if runs cannot be measured, LandscapeError if a landscape is missing.
    """
    place_data()
    ways = settings(PATTERNS)
    times = measure(ways, rounds, lambda pattern, setting: cold_run(("--pattern", pattern), setting))
    return told(times, ways) | {"machine": machine()}
