# SPDX-License-Identifier: Apache-2.0
"""Measure the overhead of the library that `reprise tune profile` preloads (the witness), in pairs of runs."""

from __future__ import annotations

import random
from typing import Any

from bench.real.catalogue import Program
from bench.real.comparing import Environment, Gain, gains
from bench.real.running import USER, ProgramError, directory, run_program
from reprise.config import Tuner
from reprise.tuner.profile.process_report import LIBRARY, VARIABLE
from tests.cluster.machine import VirtualCluster

LEAST_PAIRS = 4


def witnessed(program: Program) -> Environment:
    """Return the variables with which `reprise tune profile` runs a program."""
    return {"LD_PRELOAD": str(Tuner().libexec / LIBRARY), VARIABLE: f"{directory(program)}/processes"}


def overhead(cluster: VirtualCluster, program: Program, pairs: int) -> dict[str, Any]:
    """Return how much longer a program runs with the witness, in percent with 95 % bounds, and all run times.

    The witness is loaded only in the job, not in `sbatch`. Raises ProgramError if a run fails or leaves no profile.
    """
    given = witnessed(program)
    reports = given[VARIABLE]

    def run(environment: Environment) -> float:
        if not environment:
            return run_program(cluster, program, {})
        cluster.run(["sh", "-c", 'rm -rf "$0" && mkdir "$0"', reports], user=USER)
        words = ",".join(f"{name}={value}" for name, value in environment.items())
        seconds = run_program(cluster, program, {}, f"--export=ALL,{words}")
        if not any(cluster.path(reports).iterdir()):
            raise ProgramError(f"{program.name}: the witness recorded nothing")
        return seconds

    order = random.Random(pairs)  # noqa: S311 - not used for security
    return told(gains(run, {"witness": given}, pairs, order)["witness"])


def told(gain: Gain) -> dict[str, Any]:
    """Convert a gain (negative if the witness costs time) to an overhead in percent."""
    percent = [round(-100 * one, 2) for one in (gain.gain, gain.high, gain.low)]
    return {"percent": percent, "without": list(gain.defaults), "witnessed": list(gain.given)}
