# SPDX-License-Identifier: Apache-2.0
"""Measure whether a rules file helps whole applications, on a virtual cluster with a real Slurm (needs root).

    python -m bench.apps [--pairs 8] [--latency 500] [--rate 1gbit]

`--latency` sets the network latency between the cluster's nodes, in microseconds; 0 means no added latency. An
administrator tunes three collectives with `reprise tune collectives`, at the sizes that the applications use, and
publishes the rules file for the cluster. Then alice submits `cg` and bob `ft` (described in their sources) with plain
`sbatch`: in each pair of jobs, one has `--reprise=off` and the other does not, in random order. The times that are
compared are those of the applications' iterations. Every run verifies its own results.

The last line of output is a JSON object. `cg_gain` is the gain of `cg`, 1 - t_with/t_without, computed from the pairs,
where t_with is the time with the rules file; `cg_low` and `cg_high` are its 95 % bounds. A gain may be 0 or less.
`network` describes the network. `cg_rules` says how many of the two collectives that `cg` calls have a rule in the
file; if the number is 0, any difference is noise. Keys that begin with `ft_` have the same meaning for `ft`.
`in_effect` means that the campaign's file was in the environment of every job without `--reprise=off` and of no other
job, and that both users could read the file on all nodes. The campaign itself has proved that Open MPI follows the
file. The exit status is 1 if a result was wrong or the file was not in effect.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from bench.apps.jobs import APPS, NODES, App, Run, place, readable, run
from reprise.tuner.model.statistics import paired_gain
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon, install

CLASS = "W"
COLLECTIVES = ",".join(sorted({collective for app in APPS for collective, _ in app.calls}))
SIZES = ",".join(str(size) for size in sorted({size for app in APPS for _, size in app.calls}))
COMPONENT = "/etc/reprise/components/openmpi-collectives.yaml"
QUICK = {"warmup": 5, "repetitions": 30, "max_seconds": 1}
"""Defaults that are written into the component's file. They are so small that the campaign takes only minutes."""

Pair = tuple[Run, Run]
"""The run without the rules file, and the run with the file."""


@dataclass(frozen=True)
class Published:
    """The rules file of a campaign, and the (collective, size) pairs that have a rule in the file.

    `path` is empty if no setting was better than the default beyond noise.
    """

    path: str
    rules: frozenset[tuple[str, int]]


def tune(cluster: VirtualCluster) -> Published:
    """Run the campaign, print its result and return the published rules."""
    component = yaml.safe_load(cluster.path(COMPONENT).read_text())
    component["defaults"] |= QUICK
    cluster.write(COMPONENT, yaml.safe_dump(component))
    words = ["reprise", "tune", "collectives", f"--nodes={NODES}", f"--collectives={COLLECTIVES}", f"--sizes={SIZES}"]
    done = cluster.run([*words, "--yes", "--json"], user="reprise", timeout_s=3600)
    found = json.loads(done.stdout.splitlines()[-1])
    if not found["record"]:
        return Published("", frozenset())
    rules = []
    for rule in found["parametrization"]["rules"]:
        chosen = f"{rule['algorithm_name']}, segment {rule['segment']}" if rule["applied"] else "as built in"
        click.echo(f"{rule['problem']:18} {chosen:36} gain {rule['gain']:6.1%} (at least {rule['gain_low']:.1%})")
        collective, size = rule["problem"].split("/")
        if rule["applied"]:
            rules.append((collective, int(size)))
    return Published(str(found["artifact"]), frozenset(rules))


def pair(cluster: VirtualCluster, app: App, rng: random.Random) -> Pair:
    """Run an application twice, in random order; return the run without the rules file and the run with it."""
    done: dict[bool, Run] = {}
    for given in rng.sample((False, True), 2):
        done[given] = run(cluster, app, *(() if given else ("--reprise=off",)))
    return done[False], done[True]


def told(pairs: Mapping[App, Sequence[Pair]], published: Published, can_read: bool) -> dict[str, Any]:
    """Return the part of the final JSON object that is computed from the runs of the applications."""
    result: dict[str, Any] = {}
    for app, own in pairs.items():
        gain = paired_gain([without.seconds for without, _ in own], [given.seconds for _, given in own])
        result |= {f"{app.name}_{key}": round(one, 4) for key, one in zip(("gain", "low", "high"), gain, strict=True)}
        result[f"{app.name}_rules"] = len(published.rules.intersection(app.calls))
    everyone = [one for own in pairs.values() for one in own]
    right_ones = all((without.rules, given.rules) == ("", published.path) for without, given in everyone)
    return result | {
        "in_effect": bool(published.path) and can_read and right_ones,
        "wrong_results": sum(not one.right for both in everyone for one in both),
        "pairs": min(map(len, pairs.values())),
    }


def measure(cluster: VirtualCluster, count: int) -> dict[str, Any]:
    """Run the campaign and `count` pairs of each application; return the final JSON object."""
    place(cluster, CLASS)
    published = tune(cluster)
    click.echo(f"rules file: {published.path or 'none, because no setting was better beyond noise'}")
    rng = random.Random(count)  # noqa: S311 - not used for security
    pairs: dict[App, list[Pair]] = {app: [] for app in APPS}
    with Daemon(cluster):
        for number in range(1, count + 1):
            for app, own in pairs.items():
                own.append(pair(cluster, app, rng))
                without, given = own[-1]
                click.echo(f"{app.name} {number:3}: {without.seconds:7.3f} s without, {given.seconds:7.3f} s with")
    for app, own in pairs.items():
        without_s, given_s = (statistics.median(one[i].seconds for one in own) for i in (0, 1))
        click.echo(f"{app.name}: median {without_s:.3f} s without, {given_s:.3f} s with the rules file")
    can_read = bool(published.path) and all(readable(cluster, published.path, app.user) for app in APPS)
    return told(pairs, published, can_read)


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=8, help="number of pairs of runs for each application, 2 or more")
    parser.add_argument("--latency", type=int, default=500, metavar="US", help="latency between nodes, in microseconds")
    parser.add_argument("--rate", default="1gbit", help="rate of every link, in tc syntax")
    arguments = parser.parse_args()
    if arguments.pairs < 2:
        parser.error("--pairs must be 2 or more")
    load = Path("/proc/loadavg").read_text().split()[0]
    with VirtualCluster(NODES, arguments.rate, arguments.latency) as cluster:
        click.echo(f"{os.cpu_count()} cores, load {load}; {cluster.describe()}")
        install(cluster)
        result = measure(cluster, arguments.pairs) | {"network": cluster.describe()}
    click.echo(json.dumps(result))
    sys.exit(0 if result["in_effect"] and not result["wrong_results"] else 1)


if __name__ == "__main__":
    main()
