# SPDX-License-Identifier: Apache-2.0
"""Measure how much settings reduce the run time, in runs that alternate with runs of the default."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.real.catalogue import Program
from bench.real.running import run_program
from reprise.tuner.model import statistics
from tests.cluster.machine import VirtualCluster

Environment = Mapping[str, str]
DEFAULT = ""


@dataclass(frozen=True)
class Gain:
    """A gain (1 - given/default) with its 95 % bounds, and each round's seconds without and with the setting."""

    gain: float
    low: float
    high: float
    defaults: Sequence[float]
    given: Sequence[float]


def gains(
    run: Callable[[Environment], float], settings: Mapping[str, Environment], rounds: int, rng: random.Random
) -> dict[str, Gain]:
    """Return the gain of each setting. In each round, the default and all settings run once, in random order.

    `run` runs the program with a setting and returns the run time in seconds. `rounds` must be 2 or more.
    """
    variants: dict[str, Environment] = {DEFAULT: {}, **settings}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name in rng.sample(list(variants), len(variants)):
            times[name].append(run(variants[name]))
    defaults = times.pop(DEFAULT)
    return {name: Gain(*statistics.paired_gain(defaults, own), defaults, own) for name, own in times.items()}


def paired_gain(cluster: VirtualCluster, program: Program, environment: Environment, pairs: int, seed: int = 1) -> Gain:
    """Run a program in pairs, without and with a setting, and return the gain. Raises ProgramError if a run fails."""

    def run(given: Environment) -> float:
        return run_program(cluster, program, given)

    rng = random.Random(seed)  # noqa: S311 - not used for security
    return gains(run, {"given": environment}, pairs, rng)["given"]
