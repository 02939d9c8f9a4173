# SPDX-License-Identifier: Apache-2.0
"""From a campaign to a matched job: tune collectives on a cluster, then measure what an ordinary user's jobs gain."""

from __future__ import annotations

import json
import random
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from bench.releases.mpi_families import NODES, Family
from bench.releases.site_of_release import release_of, site
from reprise.tuner.model.statistics import paired_gain
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import tune
from tests.waiting import wait_for

USER = "alice"
PROGRAM = f"/home/{USER}/bin/exchange"
SCRIPT = f"/home/{USER}/exchange.sh"
CAMPAIGN = "/home/reprise/campaign.yaml"
CAMPAIGN_TIMEOUT_S = 3600
JOB_TIMEOUT_S = 300
CALLS = ("--warmup", "20", "--repetitions", "150")


def definition(family: Family) -> dict[str, Any]:
    """Return the definition of a short campaign for the whole cluster."""
    return {
        "name": family.name,
        "component": family.component,
        "scope": "cluster",
        "settings": {
            "collectives": list(family.collectives),
            "sizes": list(family.sizes),
            "nodes": NODES,
            "warmup": 10,
            "repetitions": 100,
            "max_seconds": 1,
            **family.settings,
        },
        "search": {"initial": 4, "budget": 10},
        "repetitions": {"default_runs": 3, "final_pairs": 8, "more_pairs": 8},
        "executor": {"kind": "allocation", "time_limit": "0:55:00", "max_trial_s": 60, **family.launcher},
    }


def measure(family: Family, pairs: int) -> dict[str, Any]:
    """Run the campaign and `pairs` pairs of jobs; return the release, the record and the gains, or why there is none.

    Each pair is a job with the settings of the record and a job with `--reprise=off`, in random order.
    """
    with site(family) as cluster:
        found: dict[str, Any] = {"release": release_of(cluster, family), "network": cluster.describe()}
        told = tune(cluster, CAMPAIGN, definition(family), CAMPAIGN_TIMEOUT_S)
        found["record"] = told["records"]

        if not told["records"]:
            return found
        _prepare(cluster, family)
        wait_for("settings for the user's job", lambda: "reprise: apply:" in _explained(cluster), 20, every_s=1)
        found["explained"] = _explained(cluster)
        return {**found, **_pairs(cluster, family, pairs)}


def _explained(cluster: VirtualCluster) -> str:
    """Return the line that `--reprise=explain` prints for the user's job, without running the job."""
    asked = ["sbatch", "--reprise=explain", "--hold", "--parsable", SCRIPT]
    done = cluster.run(asked, user=USER)
    cluster.run(["scancel", done.stdout.strip()])
    return done.stderr.strip()


def _prepare(cluster: VirtualCluster, family: Family) -> None:
    """Give the user a program that calls the collectives, and its batch script."""
    installed = f"/usr/local/libexec/reprise/reprise-collbench{family.suffix}"
    cluster.run(["install", "-D", installed, PROGRAM])
    calls = [f"{name}:{size}" for name in family.collectives for size in family.sizes]
    command = f"{family.launch} {PROGRAM} {shlex.join([*CALLS, *calls])}"
    options = f"--job-name=exchange -N{NODES} --ntasks-per-node=1"
    cluster.write(SCRIPT, f'#!/bin/bash\n#SBATCH {options}\necho "file=${family.variable}"\n{command}\n', user=USER)


def _pairs(cluster: VirtualCluster, family: Family, pairs: int) -> dict[str, Any]:
    order = random.Random(1)  # noqa: S311 - not used for security
    times: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
    given: dict[bool, set[str]] = {True: set(), False: set()}
    for number in range(pairs):
        for on in order.sample([True, False], 2):
            file, seconds = _job(cluster, on)
            given[on].add(file)
            for call, value in seconds.items():
                times[on].setdefault(call, []).append(value)
        sys.stderr.write(f"{family.name}: pair {number + 1} of {pairs}\n")
    if given[False] != {""}:
        raise RuntimeError(f"jobs with --reprise=off got settings: {given[False]}")
    return {
        "matched": "" not in given[True] and len(given[True]) == 1,
        "gains": {call: list(paired_gain(times[False][call], times[True][call])) for call in times[True]},
        "seconds": {"default": times[False], "tuned": times[True]},
    }


def _job(cluster: VirtualCluster, on: bool) -> tuple[str, dict[str, float]]:
    """Run a job; return the path of the published file that it got ("": none) and the time of each call in seconds."""
    options = [] if on else ["--reprise=off"]
    end = cluster.wait_job(cluster.submit(SCRIPT, *options, user=USER), JOB_TIMEOUT_S)
    if (end.state, end.exit_status) != ("COMPLETED", 0):
        raise RuntimeError(f"job {end.job_id} ended as {end.state}: {end.output[-1000:]}")
    lines = end.output.splitlines()
    file = next(line.removeprefix("file=") for line in lines if line.startswith("file="))
    return file, seconds_of(lines)


def seconds_of(lines: Sequence[str]) -> dict[str, float]:
    """Return the time of each call by the slowest rank, in seconds, from the program's output."""
    told = [json.loads(line) for line in lines if line.startswith('{"collective"')]
    return {f"{one['collective']}:{one['size']}": one["max_s"] for one in told}
