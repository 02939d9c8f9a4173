# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of the plugin for `sbatch` and its effect on jobs, on a virtual cluster with Slurm (needs root).

    python -m bench.plugin [--rounds 300] [--storm 2000] [--records 10000]

Ordinary users submit held jobs, one after the other. Each round has one submission in each of six setups, in random
order. Two setups have no plugin (`plain`, and `again` to check the measurement). The other four have the plugin with a
daemon (`up`), without a daemon (`absent`), with a daemon suspended by SIGSTOP (`hung`), or with a daemon over TCP with
munge (`tcp_up`). The setups differ only in the plugstack.conf that their slurm.conf names.

Added time is the difference of quantiles: the slowest submission with the plugin minus the slowest of the same number
of submissions without the plugin, the second slowest minus the second slowest, and so on. `hung_max_ms` is the largest
of these differences for the setup `hung`. For comparison, keys that end in `_over_median_ms` are quantiles of the time
of submissions in a setup, minus the median without the plugin. These numbers include delays that the plugin does not
cause (by Slurm's controller and this machine), so they are never too small.

The storm follows (see `bench.plugin.storm`). The last line of output is a JSON object; keys that end in `_ms` are
milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench.plugin.plugin_cluster import DEADLINE_MS, HUNG, PLAIN, WAYS, Script, conf_of, running, submitter
from bench.plugin.storm import storm
from bench.quantile import quantile
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon

PLUGIN = Path(__file__).parents[2] / "spank/spank_reprise.so"
WARM_UP = 5  # number of each user's first rounds, which do not count
PAUSE_S = 0.01
SHOWN = (0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1)


def stripped_kib() -> float:
    """Return the size of the stripped plugin in KiB."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["strip", "-o", file.name, str(PLUGIN)], check=True)
        return Path(file.name).stat().st_size / 1024


def held(way: str, script: Script) -> list[str]:
    """Return the command that submits a script as a held job. A held job does not run during the next submission."""
    return [conf_of(way), "/usr/bin/sbatch", "--hold", script.name]


def rounds(rng: random.Random, scripts: Sequence[Script], count: int) -> list[tuple[str, Script]]:
    """Return the submissions of `count` rounds as (setup, script) pairs. Within a round, their order is random."""
    made = []
    for _ in range(count):
        script = rng.choice(scripts)
        made += [(way, script) for way in rng.sample(list(WAYS), len(WAYS))]
    return made


def one_after_another(cluster: VirtualCluster, scripts: Sequence[Script], count: int) -> dict[str, list[float]]:
    """Make `count` submissions in each setup, divided equally among the users; return their milliseconds, by setup."""
    rng = random.Random(count)  # noqa: S311 - not used for security
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    users = cluster.spec.users
    for user in users:
        own = [script for script in scripts if script.user == user]
        order = rounds(rng, own, WARM_UP + -(-count // len(users)))
        done = submitter(cluster, user, [held(*one) for one in order], pause_s=PAUSE_S)
        for number, ((way, _), (ms, status, _, error)) in enumerate(zip(order, done, strict=True)):
            if status or error:
                raise ValueError(f"sbatch, {way}: exit {status}: {error}")
            if number >= WARM_UP * len(WAYS):
                took[way].append(ms)
        cluster.run(["scancel", "--user", user])
    return took


def added(took: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the part of the final JSON object that is about single submissions, in milliseconds."""
    plain = sorted(took[PLAIN])
    median = statistics.median(plain)
    more = {way: [a - b for a, b in zip(sorted(values), plain, strict=True)] for way, values in took.items()}

    def at(way: str, share: float) -> float:
        return more[way][min(len(plain) - 1, int(len(plain) * share))]

    return {
        "up_p50_ms": at("up", 0.5),
        "up_p99_ms": at("up", 0.99),
        "absent_p50_ms": at("absent", 0.5),
        "hung_p50_ms": at("hung", 0.5),
        "hung_max_ms": max(more["hung"]),
        "tcp_up_p50_ms": at("tcp_up", 0.5),
        "again_p50_ms": at("again", 0.5),
        "again_p99_ms": at("again", 0.99),
        "plain_p50_ms": median,
        "plain_p99_over_median_ms": quantile(plain, 0.99) - median,
        "up_p99_over_median_ms": quantile(took["up"], 0.99) - median,
        "hung_max_over_median_ms": max(took["hung"]) - median,
    }


def show(took: Mapping[str, Sequence[float]]) -> None:
    """Print the quantiles of the times in each setup."""
    click.echo("milliseconds of sbatch" + " ".join([""] + [f"{f'p{100 * share:.0f}':>7}" for share in SHOWN]))
    for way, values in took.items():
        told = " ".join(f"{quantile(values, share):7.2f}" for share in SHOWN)
        click.echo(f"{way:8} {len(values):7} times {told}")


def measure(count: int, submissions: int, records: int) -> dict[str, Any]:
    """Measure submissions and the storm, and return the JSON object."""
    with running(records) as (cluster, scripts):
        with Daemon(cluster), Daemon(cluster, HUNG) as hung:
            hung.signal("STOP")
            try:
                took = one_after_another(cluster, scripts, count)
            finally:
                hung.signal("CONT")
        show(took)
        result: dict[str, Any] = {key: round(value, 2) for key, value in added(took).items()}
        result |= {"deadline_ms": DEADLINE_MS, "so_kib": round(stripped_kib(), 1)}
        return result | storm(cluster, scripts, submissions)


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.plugin", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=300, help="number of submissions in each setup")
    parser.add_argument("--storm", type=int, default=2000, help="number of simultaneous submissions")
    parser.add_argument("--records", type=int, default=10_000)
    arguments = parser.parse_args()
    click.echo(f"{os.cpu_count()} cores; {arguments.records} records")
    click.echo(json.dumps(measure(arguments.rounds, arguments.storm, arguments.records)))


if __name__ == "__main__":
    main()
