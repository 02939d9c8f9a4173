# SPDX-License-Identifier: Apache-2.0
"""Submit the mini-applications as ordinary users' jobs on a virtual cluster, with one rank on each of four nodes."""

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
    """A program of bench/apps, the user who runs it, and the collectives that it calls in class W on four ranks.

    `calls` contains (collective, size in bytes) pairs. For allgather and alltoall, the size is that of the data that
    one rank sends to another.
    """

    name: str
    user: str
    calls: tuple[tuple[str, int], ...]

    @property
    def program(self) -> str:
        """The path of the program on the cluster."""
        return f"/srv/apps/{self.name}"

    @property
    def script(self) -> str:
        """The name of the batch script."""
        return f"{self.name}.sh"

    def text(self, problem_class: str) -> str:
        """Return the batch script, which prints the path of the job's rules file, if any, and runs the program."""
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
    """A job's output: whether the results are right, the iterations' time, and the rules file's path ("": none)."""

    right: bool
    seconds: float
    rules: str


def place(cluster: VirtualCluster, problem_class: str) -> None:
    """Install the programs, and write the batch scripts to the users' home directories."""
    for app in APPS:
        cluster.run(["install", "-D", f"{SOURCE}/bench/apps/{app.name}", app.program])
        cluster.write(f"/home/{app.user}/{app.script}", app.text(problem_class), user=app.user)


def run(cluster: VirtualCluster, app: App, *options: str) -> Run:
    """Submit the application's job, wait for its end and return its parsed output.

    Raises ClusterError if the application printed no result.
    """
    end = cluster.wait_job(cluster.submit(app.script, *options, user=app.user), timeout_s=300)
    rules = re.search(r"^rules=(.*)$", end.output, re.MULTILINE)
    time = re.search(rf"^{app.name}: .* time ([0-9.]+) s$", end.output, re.MULTILINE)
    if not rules or not time:
        raise ClusterError(f"{app.user}'s job {end.job_id} ({app.name}) is {end.state} without a result: {end.output}")
    return Run(end.state == "COMPLETED", float(time[1]), rules[1])


def readable(cluster: VirtualCluster, path: str, user: str) -> bool:
    """Return whether a user can read the file at `path` on every node."""
    done = [cluster.run(["test", "-r", path], user=user, node=f"node{i}", check=False) for i in range(NODES)]
    return not any(one.returncode for one in done)
