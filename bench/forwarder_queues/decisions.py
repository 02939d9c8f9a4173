# SPDX-License-Identifier: Apache-2.0
"""Decisions of the policy MCKP: its gain on table 5.3 of Bez 2020, and the time of a large decision."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence

from bench.forwarder_queues.printed_results import TABLE_5_3_NODES, table_5_3_jobs
from reprise.matcher.arbiter.aggregate_bandwidth import expected
from reprise.matcher.arbiter.bandwidth_curve import BandwidthCurve, Point
from reprise.matcher.arbiter.forwarder_policies import Infeasible, Policy, allocate
from reprise.matcher.arbiter.forwarding_job import COUNTS, Job, Pool
from reprise.matcher.arbiter.share_decision import State, decide

JOBS = 1000
FORWARDERS = 512
COMPUTE_NODES = 20_000
DECISIONS = 9
PRINTED_FORWARDERS = 12


def fixture() -> dict[str, float]:
    """Return the sums of bandwidths under STATIC and MCKP with 12 forwarders in MB/s, and their ratio."""
    jobs, pool = table_5_3_jobs(), Pool(PRINTED_FORWARDERS, TABLE_5_3_NODES)
    sums = {}
    for policy in (Policy.STATIC, Policy.MCKP):
        allocation = allocate(policy, jobs, pool)
        if isinstance(allocation, Infeasible):
            raise RuntimeError(allocation.reason)
        sums[policy.value] = expected(jobs, allocation.shares, pool.forwarders).bandwidth
    return {**sums, "ratio": sums["mckp"] / sums["static"]}


def decide_ms(decisions: int = DECISIONS) -> dict[str, float]:
    """Return the median and the largest time in milliseconds of decisions for 1,000 running jobs and 512 forwarders.

    Each job has five numbers of forwarders, and each number is an option. Between two decisions, one job in a hundred
    ends, and as many start. A decision includes the names of forwarders.
    """
    jobs = _made_up(JOBS + decisions * (JOBS // 100))
    names = [f"forwarder{number}" for number in range(FORWARDERS)]
    pool, state, times = Pool(FORWARDERS, COMPUTE_NODES), State(), []
    for number in range(decisions):
        first = number * (JOBS // 100)
        begin = time.perf_counter()
        state = decide(Policy.MCKP, jobs[first : first + JOBS], pool, names, state, 60.0 * number).state
        times.append(1000 * (time.perf_counter() - begin))
    return {"median": round(statistics.median(times), 1), "largest": round(max(times), 1)}


def _made_up(number: int) -> Sequence[Job]:
    rng = random.Random(1)  # noqa: S311 - no secret
    jobs = []
    for one in range(number):
        mean, points = rng.lognormvariate(5, 1.5), {}
        for forwarders in (0, *COUNTS):
            points[forwarders] = Point(mean, 0.95 * mean, 5)
            mean *= rng.uniform(1.06, 2.0)
        nodes = 8 * rng.choice(COUNTS)
        jobs.append(Job(f"job {one}", nodes, 32 * nodes, BandwidthCurve(points), rng.uniform(10, 10_000)))
    return jobs
