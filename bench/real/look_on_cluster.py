# SPDX-License-Identifier: Apache-2.0
"""Search for a program's gains exhaustively on a virtual cluster: profile it, then run a job with every setting."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import click

from bench.real.catalogue import Program
from bench.real.comparing import Environment
from bench.real.looking import Limits, Looking, Tried, cost
from bench.real.on_cluster import answer_of, placed
from bench.real.running import OFF, directory, run_program
from tests.cluster.machine import VirtualCluster

STARTING_S = 3.0
"""Seconds that a job takes in addition to the time that its script measures; used to estimate a look's duration."""
SLOWEST = 3
"""A run with a setting is cancelled after this multiple of the profile's run time, or after `PATIENCE_S` if longer."""
PATIENCE_S = 60


def look(cluster: VirtualCluster, program: Program, pairs: int, limit_s: float) -> dict[str, Any]:
    """Profile a program and try all settings; return the result of `Looking.look` and the profile's verdicts.

    Raises ClusterError if the program cannot be profiled, ProgramError if it fails with default settings.
    """
    script, profile = f"{directory(program)}/job.sh", f"{directory(program)}/profile.json"
    words = ["reprise", "tune", "profile", script, "--json", f"--output={profile}", f"--timeout={program.timeout_s}"]
    told = json.loads(cluster.run(words, user="reprise", timeout_s=program.timeout_s + 60).stdout)
    points = answer_of(cluster, "look_points", script, profile)
    tried = _in_turn(_placed(cluster, program, points["settings"]))
    elapsed_s = told["profile"]["elapsed_s"]
    quick = program.model_copy(
        update={"timeout_s": min(program.timeout_s, max(PATIENCE_S, round(SLOWEST * elapsed_s)))}
    )

    def run(environment: Environment) -> float:
        return run_program(cluster, quick if environment else program, environment, OFF)

    limits = Limits(pairs, limit_s, elapsed_s + STARTING_S)
    click.echo(f"{program.name:18} {cost(tried, limits)}")
    order = random.Random(pairs)  # noqa: S311 - not used for security
    looking = Looking(run, points["names"], points["conflicts"], limits, order, time.monotonic)
    return {
        "verdicts": {one["component"]: one["worth"] for one in told["verdicts"]},
        "excluded": points["excluded"],
        "inapplicable": points["inapplicable"],
        **looking.look(tried),
    }


def _placed(cluster: VirtualCluster, program: Program, settings: list[dict[str, Any]]) -> list[Tried]:
    """Write each setting's files to a directory that the user's jobs can read, and return the settings."""
    return [
        Tried(one["component"], one["name"], placed(cluster, program, f"look/{number}", one))
        for number, one in enumerate(settings)
    ]


def _in_turn(tried: list[Tried]) -> list[Tried]:
    """Order settings so that a short look tries all components: first one per component, then a second, and so on."""
    place: dict[str, int] = {}
    keys = []
    for one in tried:
        place[one.component] = place.get(one.component, 0) + 1
        keys.append(place[one.component])
    return [one for _, one in sorted(zip(keys, tried, strict=True), key=lambda pair: pair[0])]
