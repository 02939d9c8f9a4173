# SPDX-License-Identifier: Apache-2.0
"""Measure the Small Read Optimizer's landscapes on this machine's disk: `make landscapes-sro`.

    python -m bench.sro.disk_landscapes [--full] [--repetitions 2] [--patterns a,b,c,d]

A landscape has the measured times of all points of a grid of settings. Every point of the grid runs with each pattern
of bench/fakeapp, with a file that is not in the page cache. A repetition runs all patterns and points in random order,
so that slow changes of the machine affect all of them. It also contains runs of the default and runs without the
accelerator. The grid has about every other value of the grid in Robert 2021, table 4.5; `--full` measures the complete
grid of that table, with 1,920 points, which takes half a day. The landscapes are stored in bench/landscapes/disk/, so
that searches can replay them. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.emulated import DIRECTORY
from bench.emulators import sro
from bench.small_reads import DATA, PATTERNS, SmallReadsError, cold_run, machine, place_data
from reprise.tuner.model.landscape import Landscape
from reprise.tuner.model.space import Parameter, Parametrization, Space

DEFAULT, FULL = sro.DEFAULT, sro.SPACE
STORED = DIRECTORY / "disk"
"""Directory of these landscapes. It is separate, because `make bench-tuner` plays all other landscapes with peers."""
REDUCED_VALUES = {
    "cluster_threshold": (2, 22, 102),
    "binsize": (262144, 1048576),
    "prefetch_size": (1048576, 4194304, 10485760),
    "sequence_length": (50, 150, 750),
}
REDUCED = Space(tuple(Parameter(name, values) for name, values in REDUCED_VALUES.items()))
EXTRA = 3
"""Number of runs of the default, and also of runs without the accelerator, in each repetition."""
NONE, DEFAULT_RUN = -1, -2

Task = tuple[str, int]
"""A pattern and the index of a point, `NONE` (without the accelerator) or `DEFAULT_RUN`."""
Measure = Callable[[str, Parametrization | None], float]
"""A function that runs a pattern with a setting, or None without the accelerator, and returns the seconds."""


@dataclass
class Measured:
    """The seconds measured for a pattern: at each point of the grid, with the default, and without the accelerator."""

    samples: list[list[float]]
    default: list[float] = field(default_factory=list)
    none: list[float] = field(default_factory=list)

    def of(self, index: int) -> list[float]:
        """Return the list of measured seconds for a task's index, which is a point's index, `NONE` or `DEFAULT_RUN`."""
        if index == NONE:
            return self.none
        return self.default if index == DEFAULT_RUN else self.samples[index]


def path_of(pattern: str, full: bool) -> Path:
    """Return the path of a pattern's stored landscape."""
    return STORED / f"fakeapp-{pattern}{'.full' if full else ''}.json.gz"


def schedule(patterns: Sequence[str], points: int, rng: random.Random) -> list[Task]:
    """Return the tasks of one repetition, in random order."""
    tasks = [(pattern, index) for pattern in patterns for index in range(points)]
    tasks += [(pattern, index) for pattern in patterns for index in (NONE, DEFAULT_RUN) for _ in range(EXTRA)]
    return rng.sample(tasks, len(tasks))


def measure(patterns: Sequence[str], space: Space, repetitions: int, one: Measure, seed: int) -> dict[str, Measured]:
    """Measure all points of all patterns, `repetitions` times."""
    found = {pattern: Measured([[] for _ in space.points]) for pattern in patterns}
    rng = random.Random(seed)  # noqa: S311 - not used for security
    for repetition in range(repetitions):
        tasks = schedule(patterns, len(space.points), rng)
        for number, (pattern, index) in enumerate(tasks, 1):
            setting = space.points[index] if index >= 0 else DEFAULT if index == DEFAULT_RUN else None
            found[pattern].of(index).append(float(f"{one(pattern, setting):.6g}"))
            if not number % 50:
                _say(f"repetition {repetition + 1} of {repetitions}: {number} of {len(tasks)} runs")
    return found


def assemble(pattern: str, space: Space, measured: Measured, source: str, full: bool) -> Landscape:
    """Return the landscape of a pattern from its measurements."""
    none = statistics.median(measured.none)
    text = f"measured: fakeapp --pattern {pattern}, cold, {source}; without the accelerator {none:.3g} s"
    name = path_of(pattern, full).name.removesuffix(".json.gz")
    return Landscape(name, space, DEFAULT, measured.samples, "s", text, measured.default)


def told(landscape: Landscape, none: Sequence[float]) -> dict[str, object]:
    """Return a pattern's JSON object. The best point may only be lucky, so `make bench-sro` measures it again."""
    point, best = landscape.optimum
    default = statistics.median(landscape.default_samples)
    without = statistics.median(none)
    return {
        "none_s": round(without, 3),
        "default_s": round(default, 3),
        "best_s": round(best, 3),
        "over_default": round(1 - best / default, 4),
        "over_none": round(1 - best / without, 4),
        "best": dict(point),
    }


def _cold(pattern: str, setting: Parametrization | None) -> float:
    return cold_run(("--pattern", pattern), setting).seconds


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> None:
    """Measure and store the landscapes, and print the JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the whole grid of the thesis")
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--patterns", type=lambda text: text.split(","), default=list(PATTERNS))
    given = parser.parse_args()
    if given.repetitions < 1 or not set(given.patterns) <= set(PATTERNS):
        parser.error("--repetitions must be 1 or more, --patterns some of a,b,c,d")
    space = FULL if given.full else REDUCED
    try:
        place_data()
        found = measure(given.patterns, space, given.repetitions, _cold, seed=1)
    except SmallReadsError as error:
        sys.exit(f"bench.sro.disk_landscapes: {error}")
    source = machine(DATA)
    STORED.mkdir(parents=True, exist_ok=True)
    result: dict[str, object] = {"machine": source, "points": len(space.points), "repetitions": given.repetitions}
    for pattern, measured in found.items():
        landscape = assemble(pattern, space, measured, source, given.full)
        landscape.save(path_of(pattern, given.full))
        result[pattern] = told(landscape, measured.none)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
