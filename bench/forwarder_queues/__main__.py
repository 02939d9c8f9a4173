# SPDX-License-Identifier: Apache-2.0
"""Compare the arbiter of I/O forwarders with results printed in Bez 2020, section 5.6, and measure its decisions.

    .venv/bin/python -m bench.forwarder_queues [--orders 100] [--queues 25]

The last line of output is a JSON object. `mckp_fixture` has the sums of bandwidths of the six jobs of table 5.3 under
STATIC and MCKP, in MB/s, and their ratio. `decide_ms` has the median and the largest time in milliseconds of decisions
for 1,000 jobs and 512 forwarders.

`queue_1` and `queue_2` are simulations of the queues, under each policy. `printed` has the printed aggregate bandwidths
in MB/s (equation 5.2). `simulated` has the aggregate bandwidth under each policy. `mckp` changes forwarders whenever
bandwidth gains, as the author's policy does; `mckp_remap_cost` is the product's policy, which also considers the cost
of changes. `ratio` and `printed_ratio` are the ratios of `mckp` to `static`. `jobs` has the mean bandwidth of each
application's jobs under `static` and `mckp`, next to the printed mean if there is one.

`filled` has the ratio under each assumption about the bandwidths that are not printed (`Fill`), and
`intervals` if jobs start some seconds apart instead of all at once.

`random_queues` has MCKP's results divided by those of other policies, on `--queues` random queues of the 20 patterns
that the author published: the median and the smallest ratio of aggregate bandwidths, and the median ratio of the times
until the last job ends.

The order of the first queue is not printed. Its entry has the medians of `--orders` random orders, and `range` has the
smallest and the largest ratio.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.forwarder_queues import random_queues
from bench.forwarder_queues.decisions import decide_ms, fixture
from bench.forwarder_queues.printed_results import (
    APPLICATIONS,
    LIVE_DELAY,
    LIVE_FORWARDERS,
    LIVE_NODES,
    PRINTED,
    PRINTED_JOBS,
    QUEUE_1,
    QUEUE_2,
    Fill,
    live_curve,
)
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.forwarding_job import Job, Pool
from reprise.matcher.arbiter.forwarding_queue import QueuedJob, Simulation, Timing, simulate
from reprise.matcher.arbiter.remap_cost import RemapCost

POOL = Pool(LIVE_FORWARDERS, LIVE_NODES, direct=False)
INTERVALS = (0.25, 0.5, 1.0, 2.0, 5.0)  # seconds
FREE = RemapCost(pause_seconds=0, settle_seconds=0)
VARIANTS: Mapping[str, tuple[Policy, RemapCost]] = {
    "one": (Policy.ONE, FREE),
    "static": (Policy.STATIC, FREE),
    "size": (Policy.SIZE, FREE),
    "process": (Policy.PROCESS, FREE),
    "mckp": (Policy.MCKP, FREE),
    "mckp_remap_cost": (Policy.MCKP, RemapCost()),
    "oracle": (Policy.ORACLE, FREE),
}


def queue_of(names: Iterable[str], fill: Fill = Fill.POWER) -> list[QueuedJob]:
    """Return the jobs of a queue, in the order of their applications' names."""
    return [
        QueuedJob(
            Job(f"{position} {name}", APPLICATIONS[name].nodes, APPLICATIONS[name].processes, live_curve(name, fill)),
            1000 * APPLICATIONS[name].written,
            1000 * APPLICATIONS[name].read,
        )
        for position, name in enumerate(names, 1)
    ]


def simulated(names: Sequence[str], fill: Fill = Fill.POWER, interval: float = 0.0) -> dict[str, Simulation]:
    """Return the simulation of a queue under each of `VARIANTS`, with `interval` seconds between two starts."""
    queue, timing = queue_of(names, fill), Timing(interval, LIVE_DELAY)
    return {name: simulate(queue, POOL, policy, timing, cost) for name, (policy, cost) in VARIANTS.items()}


def compared(
    orders: Sequence[Sequence[str]],
    printed: Mapping[str, float],
    printed_jobs: Mapping[str, Mapping[str, Sequence[float]]],
) -> dict[str, Any]:
    """Return the entry of a queue in the JSON object: the medians over several orders of its jobs."""
    results = [simulated(order) for order in orders]
    ratios = [_ratio(one) for one in results]
    return {
        "printed": printed,
        "simulated": {name: round(statistics.median(one[name].bandwidth for one in results), 1) for name in VARIANTS},
        "printed_ratio": round(printed["mckp"] / printed["static"], 3),
        "ratio": _median_ratio(results),
        "range": [round(min(ratios), 3), round(max(ratios), 3)],
        "filled": {fill: _median_ratio(simulated(order, fill) for order in orders) for fill in Fill},
        "intervals": {
            f"{interval:g}": _median_ratio(simulated(order, interval=interval) for order in orders)
            for interval in INTERVALS
        },
        "jobs": {
            name: {"simulated": _means(name, results)}
            | ({"printed": _printed_means(printed_jobs[name])} if name in printed_jobs else {})
            for name in sorted(set(orders[0]))
        },
    }


def _ratio(result: Mapping[str, Simulation]) -> float:
    return result["mckp"].bandwidth / result["static"].bandwidth


def _median_ratio(results: Iterable[Mapping[str, Simulation]]) -> float:
    return round(statistics.median(_ratio(one) for one in results), 3)


def _means(name: str, results: Sequence[Mapping[str, Simulation]]) -> dict[str, float]:
    return {
        variant: round(statistics.median(_mean(name, one[variant]) for one in results), 1)
        for variant in ("static", "mckp")
    }


def _mean(name: str, result: Simulation) -> float:
    return statistics.fmean(ended.run.bandwidth for job, ended in result.jobs.items() if job.split()[1] == name)


def _printed_means(jobs: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {variant: round(statistics.fmean(values), 1) for variant, values in jobs.items()}


def result(orders: int) -> dict[str, Any]:
    """Return the JSON object; the same seed shuffles the first queue in every run."""
    jobs = [name for name, number in QUEUE_1.items() for _ in range(number)]
    shuffle = random.Random(1)  # noqa: S311 - no secret
    shuffled = [shuffle.sample(jobs, len(jobs)) for _ in range(orders)]
    return {
        "mckp_fixture": fixture(),
        "queue_1": compared(shuffled, PRINTED["queue_1"], PRINTED_JOBS),
        "queue_2": compared([QUEUE_2], PRINTED["queue_2"], {}),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Print the JSON object."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.forwarder_queues", description=summary)
    parser.add_argument("--orders", type=int, default=100, help="Number of random orders of the first queue.")
    parser.add_argument("--queues", type=int, default=25, help="Number of random queues of each kind.")
    given = parser.parse_args(argv)
    found = {**result(given.orders), "random_queues": random_queues.result(given.queues), "decide_ms": decide_ms()}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
