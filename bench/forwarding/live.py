# SPDX-License-Identifier: Apache-2.0
"""Queues of users' jobs on a virtual cluster, whose forwarders are shared out by each policy in turn.

The cluster has four compute nodes for each I/O node, and a parallel file system (`tests/cluster/storage.py`). Campaigns
first measure the curve of each application. Then three users submit queues of jobs with `sbatch`, and the arbiter
shares out the forwarders. The aggregate bandwidth of a queue is the sum of its jobs' bandwidths. Queues are drawn at
random, always the same ones.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from reprise.tuner.model.statistics import paired_gain
from tests.cluster import forwarding
from tests.cluster.forwarding import Arbiter, Pool
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon, install, tune
from tests.cluster.storage import Storage

COMPUTE_NODES, IO_NODES = 16, 4
SERVER_RATE = "240mbit"
"""Rate of data servers: together they are faster than all nodes, so that the policy decides, and not their limit."""
POLICIES = ("zero", "one", "static", "size", "process", "mckp", "oracle")
FORGE = "/usr/local/libexec/reprise/reprise-forge"
MIB = 2**20
JOB_LIMIT_S = 300.0


@dataclass(frozen=True)
class Application:
    """An application of one user, as steps of `reprise-forge`; sizes are in bytes of all tasks together."""

    name: str
    user: str
    nodes: int
    tasks_per_node: int
    layout: str
    request: int
    written: int
    read: int

    @property
    def path(self) -> str:
        """Path of its files, without the suffix that each run adds."""
        return f"/scratch/{self.name}"

    @property
    def place(self) -> str:
        """Directory of its batch script."""
        return f"/home/{self.user}/{self.name}"

    def script(self) -> str:
        """Return the batch script."""
        sizes = {"write": self.written, "read": self.read}
        steps = [f"{call}:{self.layout}:{size}:{self.request}:{self.path}" for call, size in sizes.items() if size]
        around = [f"{call}:{self.layout}:{self.path}" for call in ("open", "close")]
        return (
            f"#!/bin/bash\n#SBATCH --job-name={self.name} --nodes={self.nodes} "
            f"--ntasks-per-node={self.tasks_per_node} --output={self.name}-%j.out\n"
            f"mpirun {FORGE} {around[0]} {' '.join(steps)} {around[1]}\n"
        )

    def pattern(self) -> Mapping[str, Any]:
        """Return the pattern that campaigns replay."""
        files = "individual" if self.layout == "individual" else "shared"
        shared = {"path": self.path, "number_of_files": files, "spatiality": self.layout}
        if files == "individual":
            del shared["spatiality"]
        sizes = {"write": self.written, "read": self.read}
        moves = [
            {**shared, "operation": call, "total_size": size, "request_size": self.request}
            for call, size in sizes.items()
            if size
        ]
        around = [{**shared, "operation": call} for call in ("open", "close")]
        return {"forwarders": 0, "phases": [{"patterns": [around[0], *moves, around[1]]}]}


APPLICATIONS = (
    Application("checkpoint", "alice", 2, 2, "individual", MIB, 128 * MIB, 0),
    Application("dump", "bob", 4, 1, "individual", MIB, 256 * MIB, 0),
    Application("restart", "bob", 2, 1, "individual", MIB, 16 * MIB, 96 * MIB),
    Application("scan", "carol", 4, 1, "contiguous", 512 * 1024, 32 * MIB, 160 * MIB),
    Application("shared", "carol", 2, 2, "strided", 128 * 1024, 96 * MIB, 0),
    Application("single", "alice", 1, 1, "contiguous", 512 * 1024, 48 * MIB, 0),
    Application("wide", "alice", 4, 2, "strided", 256 * 1024, 192 * MIB, 0),
)
QUEUE_LENGTH = 10


def _drawn(seed: int) -> Sequence[str]:
    """Return the names of a queue's jobs in the order of submission."""
    draw = random.Random(seed)  # noqa: S311 - not used for security
    return draw.choices([one.name for one in APPLICATIONS], k=QUEUE_LENGTH)


QUEUES: Mapping[str, Sequence[str]] = {f"queue {seed}": _drawn(seed) for seed in (1, 2, 3)}


@contextmanager
def site(
    compute_nodes: int, *options: str, rate: str, server_rate: str = ""
) -> Iterator[tuple[VirtualCluster, Storage, Pool]]:
    """Yield a cluster with the file system, the pool, Reprise, and the applications' scripts.

    `options` are further options of the forwarders. `rate` is that of the links of I/O nodes, and of data servers
    unless these have `server_rate`.
    """
    io_nodes = range(compute_nodes, compute_nodes + IO_NODES)
    with VirtualCluster(nodes=compute_nodes + IO_NODES) as cluster:
        install(cluster)
        forwarding.install(cluster)
        servers = server_rate or rate
        storage = Storage(
            cluster, io_nodes=io_nodes, servers=6, server_rate=servers, compute_rate="25mbit", io_rate=rate
        )
        storage.start()
        forwarding.keep_for_forwarding(cluster, io_nodes)
        for one in APPLICATIONS:
            cluster.write(f"{one.place}/{one.name}.sh", one.script(), user=one.user, mode=0o755)
            cluster.write(f"{one.place}/pattern.json", json.dumps(one.pattern()), user=one.user)
        with Pool(cluster, io_nodes, *options) as pool:
            forwarding.configure(cluster, pool.addresses, prefixes=["/scratch"])
            yield cluster, storage, pool


def campaign(one: Application, evaluations: int) -> dict[str, Any]:
    """Return the campaign that measures an application's curve."""
    return {
        "name": one.name,
        "component": "forwarders",
        "settings": {"pattern": f"{one.place}/pattern.json", "forwarders": [1, 2, 4]},
        "application": {"script": f"{one.place}/{one.name}.sh", "user": one.user},
        "search": {"method": "exhaustive", "budget": 3 * evaluations, "window": 0},
        "noise": {"policy": "even", "settings": {"evaluations": evaluations}},
        "repetitions": {"default_runs": evaluations, "final_pairs": evaluations},
        "executor": {"kind": "slurm", "max_trial_s": 240},
    }


def measured(rounds: int, evaluations: int) -> Mapping[str, Any]:
    """Return the curves, and the aggregate bandwidths of all queues under each policy, in MB/s."""
    with site(COMPUTE_NODES, rate="80mbit", server_rate=SERVER_RATE) as (cluster, storage, pool):
        curves = {}
        for one in APPLICATIONS:
            report = tune(cluster, f"/home/reprise/{one.name}.yaml", campaign(one, evaluations), timeout_s=1800)
            curves[one.name] = _curve(cluster, report["record"]) if report["record"] else None
        found: dict[str, dict[str, list[float]]] = {queue: {policy: [] for policy in POLICIES} for queue in QUEUES}
        with Daemon(cluster):
            for _ in range(rounds):
                for policy in random.sample(POLICIES, len(POLICIES)):
                    settings = {"prefixes": ["/scratch"], "policy": policy, "settle_s": 1.0, "pause_s": 0.2}
                    forwarding.configure(cluster, pool.addresses, **settings)
                    with Arbiter(cluster):
                        for queue, names in QUEUES.items():
                            found[queue][policy].append(_played(cluster, names))
    return {
        "cluster": f"{cluster.describe()}; {storage.describe()}",
        "curves": curves,
        "queues": QUEUES,
        "mb_s": {
            queue: {policy: round(statistics.median(values), 1) for policy, values in by_policy.items()}
            for queue, by_policy in found.items()
        },
        **_compared(found),
    }


def _curve(cluster: VirtualCluster, record: int) -> Mapping[str, float]:
    done = cluster.run(["reprise", "records", "show", str(record), "--json"], user="reprise")
    runs = json.loads(done.stdout)["record"]["parametrization"]["bandwidth_mb_s"]
    return {number: round(statistics.fmean(values), 1) for number, values in runs.items()}


def _played(cluster: VirtualCluster, names: Sequence[str]) -> float:
    """Submit a queue, wait for its end, and return the sum of the jobs' bandwidths."""
    by_name = {one.name: one for one in APPLICATIONS}
    jobs = [cluster.submit(f"{name}.sh", user=by_name[name].user, cwd=by_name[name].place) for name in names]
    total = 0.0
    for job in jobs:
        end = cluster.wait_job(job, JOB_LIMIT_S)
        if end.state != "COMPLETED":
            raise RuntimeError(f"job {job}: {end.state}: {end.output[-500:]}")
        total += json.loads(end.output)["mb_s"]
    return total


def _compared(found: Mapping[str, Mapping[str, Sequence[float]]]) -> Mapping[str, Any]:
    """Return MCKP's ratio to each other policy, with its bounds, over all queues and rounds."""
    ratios = {}
    for policy in POLICIES:
        if policy != "mckp":
            pairs = [
                pair for by_policy in found.values() for pair in zip(by_policy[policy], by_policy["mckp"], strict=True)
            ]
            # the gain of inverse bandwidths is 1 - other/mckp
            gain, low, high = paired_gain([1 / other for other, _ in pairs], [1 / own for _, own in pairs])
            ratios[policy] = [round(1 / (1 - value), 3) for value in (gain, low, high)]
    return {"mckp_to": ratios}
