# SPDX-License-Identifier: Apache-2.0
"""The mini-applications as ordinary users run them on a virtual cluster: plain `sbatch`, four nodes, a rank on each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import SOURCE

NODES = 4
SWITCH = "OMPI_MCA_coll_tuned_use_dynamic_rules"
FILE = "OMPI_MCA_coll_tuned_dynamic_rules_filename"


@dataclass(frozen=True)
class App:
    """A program of bench/apps, who runs it, and what class W of it calls on four ranks: collective and bytes, which for
    allgather and alltoall are those from one rank to another."""

    name: str
    user: str
    calls: tuple[tuple[str, int], ...]

    @property
    def program(self) -> str:
        return f"/srv/apps/{self.name}"

    @property
    def script(self) -> str:
        return f"{self.name}.sh"

    def text(self, problem_class: str) -> str:
        """The batch script; it also shows which rules file its job has, if any."""
        return (
            f"#!/bin/bash\n#SBATCH --job-name={self.name} --nodes={NODES} --ntasks-per-node=1\n"
            f'echo "rules=${{{SWITCH}:+${FILE}}}"\nmpirun {self.program} --class {problem_class}\n'
        )


CG, FT = APPS = (
    App("cg", "alice", (("allreduce", 8), ("allgather", 65536))),
    App("ft", "bob", (("allreduce", 16), ("alltoall", 262144))),
)


@dataclass(frozen=True)
class Run:
    """What a job told: whether its results are right, the seconds of its iterations, its rules file ("": none)."""

    right: bool
    seconds: float
    rules: str


def place(cluster: VirtualCluster, problem_class: str) -> None:
    """Put programs and scripts where their users have them."""
    for app in APPS:
        cluster.run(["install", "-D", f"{SOURCE}/bench/apps/{app.name}", app.program])
        cluster.write(f"/home/{app.user}/{app.script}", app.text(problem_class), user=app.user)


def run(cluster: VirtualCluster, app: App, *options: str) -> Run:
    """Submit, wait and read. Raises ClusterError where the application came to no result at all."""
    end = cluster.wait_job(cluster.submit(app.script, *options, user=app.user), timeout_s=300)
    rules = re.search(r"^rules=(.*)$", end.output, re.MULTILINE)
    time = re.search(rf"^{app.name}: .* time ([0-9.]+) s$", end.output, re.MULTILINE)
    if not rules or not time:
        raise ClusterError(f"{app.user}'s job {end.job_id} ({app.name}) is {end.state} without a result: {end.output}")
    return Run(end.state == "COMPLETED", float(time[1]), rules[1])


def readable(cluster: VirtualCluster, path: str, user: str) -> bool:
    """Whether a user can read a file on every node."""
    done = [cluster.run(["test", "-r", path], user=user, node=f"node{i}", check=False) for i in range(NODES)]
    return not any(one.returncode for one in done)
