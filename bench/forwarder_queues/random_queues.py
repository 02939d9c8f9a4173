# SPDX-License-Identifier: Apache-2.0
"""Random queues of the published patterns, simulated under each policy."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.forwarder_queues.published_patterns import MACHINES, PATTERNS
from reprise.matcher.arbiter.bandwidth_curve import exact
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.forwarding_job import Job, Pool
from reprise.matcher.arbiter.forwarding_queue import QueuedJob, Simulation, Timing, simulate

JOBS = 16
NODES = 128
FORWARDERS = 12
TIMING = Timing(interval=2.0, delay=1.0)
SECONDS = (20, 600)  # limits of a job's run time at the median of its bandwidths


def queues(machine: str, number: int, *, direct: bool) -> Iterator[list[QueuedJob]]:
    """Yield queues of jobs of random patterns and sizes; the same numbers in every run."""
    rng = random.Random(f"{machine} {direct}")  # noqa: S311 - no secret
    for _ in range(number):
        queue = []
        for position in range(JOBS):
            row = rng.randrange(len(PATTERNS))
            curve = {count: value for count, value in MACHINES[machine][row].items() if count or direct}
            job = Job(f"{position} {PATTERNS[row].letter}", PATTERNS[row].nodes, PATTERNS[row].processes, exact(curve))
            queue.append(QueuedJob(job, statistics.median(curve.values()) * rng.uniform(*SECONDS)))
        yield queue


def compared(machine: str, number: int, *, direct: bool) -> dict[str, dict[str, float]]:
    """Return MCKP's results divided by those of each other policy.

    `median` and `least` are of the ratios of aggregate bandwidths, and `time` is the median ratio of the times until
    the last job ends.
    """
    policies = [policy for policy in Policy if policy is not Policy.MCKP and (direct or policy is not Policy.ZERO)]
    ratios: dict[str, list[tuple[float, float]]] = {policy.value: [] for policy in policies}
    pool = Pool(FORWARDERS, NODES, direct=direct)
    for queue in queues(machine, number, direct=direct):
        mckp = simulate(queue, pool, Policy.MCKP, TIMING)
        for policy in policies:
            other = simulate(queue, pool, policy, TIMING)
            ratios[policy.value].append((mckp.bandwidth / other.bandwidth, _end(mckp) / _end(other)))
    return {policy: _summary(of_policy) for policy, of_policy in ratios.items()}


def result(number: int) -> Mapping[str, Any]:
    """Return the comparisons on both machines, with and without direct access."""
    return {
        f"{machine}, {'direct access' if direct else 'forwarders only'}": compared(machine, number, direct=direct)
        for machine in MACHINES
        for direct in (True, False)
    }


def _summary(ratios: Sequence[tuple[float, float]]) -> dict[str, float]:
    bandwidths, times = zip(*ratios, strict=True)
    return {
        "median": round(statistics.median(bandwidths), 2),
        "least": round(min(bandwidths), 2),
        "time": round(statistics.median(times), 2),
    }


def _end(simulation: Simulation) -> float:
    return max(one.start + one.run.seconds for one in simulation.jobs.values())
