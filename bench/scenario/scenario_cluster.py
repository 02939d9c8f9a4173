# SPDX-License-Identifier: Apache-2.0
"""The scenario's virtual cluster, with users' applications, campaigns, and jobs that start with an uncached file."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bench.plugin.plugin_cluster import DATABASE
from bench.scenario.scenario_plan import Application, Job, options, script
from bench.small_reads import DATA, LIBRARY, PROGRAM, ROOT, VARIABLES
from reprise.database.entities import Decision, Record
from reprise.database.facade import Database
from reprise.tuner.model.space import Parametrization, Space
from tests.cluster import product
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import SOURCE

COMPONENT = "sro-scenario"
TIME = r"^fakeapp: .* time ([0-9.]+) s$"
LONGEST_S = 120
CAMPAIGN = {
    "component": COMPONENT,
    "search": {"method": "exhaustive", "budget": 24},
    "noise": {"policy": "racing", "settings": {"share": 1 / 3}},
    "repetitions": {"default_runs": 2, "final_pairs": 4, "more_pairs": 4},
    "executor": {"kind": "slurm", "max_trial_s": LONGEST_S},
}
"""Settings of campaigns with a small search: the 16 points of the grid, and eight more runs of the best points.

The time of a point may vary by a factor of two between runs. If the result remains uncertain, four more pairs follow.
"""


@dataclass(frozen=True)
class Ended:
    """The id of a job that has ended, and the duration of its read phase in seconds."""

    job_id: int
    seconds: float


def inside(path: Path) -> str:
    """Return the path on the cluster of a file of the checkout. The cluster accesses the file itself, not a copy."""
    return f"{SOURCE}/{path.relative_to(ROOT)}"


def component(space: Space, default: Mapping[str, Any]) -> dict[str, Any]:
    """Return a component for the accelerator, whose library the users' scripts load, even in default runs."""
    return {
        "name": COMPONENT,
        "version": "1",
        "description": "Small Read Optimizer, which the applications' scripts load",
        "kind": "application",
        "objective": {"pattern": TIME, "unit": "s"},
        "parameters": {
            VARIABLES[one.name]: {"default": default[one.name], "values": list(one.values)} for one in space.parameters
        },
    }


def place(cluster: VirtualCluster, who: Iterable[tuple[str, Application]], described: Mapping[str, Any]) -> None:
    """Install the component's definition, and each user's applications."""
    cluster.write(f"/etc/reprise/components/{COMPONENT}.yaml", yaml.safe_dump(dict(described), sort_keys=False))
    program = inside(PROGRAM.with_name("fakeapp-mpi"))
    for user, application in dict.fromkeys(who):
        files = script(application, user, program, inside(DATA), inside(LIBRARY))
        for name, text in files.items():
            cluster.write(f"{application.directory(user)}/{name}", text, user=user, mode=0o755)


def tune(cluster: VirtualCluster, job: Job) -> dict[str, Any]:
    """Run a campaign for a job, submitted with its user's options; return the output of `reprise tune run --json`."""
    directory = job.application.directory(job.user)
    described = CAMPAIGN | {
        "name": f"{job.application.label} on {job.nodes} for {job.user}",
        "application": {
            "script": f"{directory}/sbatch",
            "user": job.user,
            "directory": directory,
            "options": list(options(job)),
        },
    }
    return product.tune(cluster, f"/home/reprise/campaigns/{job.number}.yaml", described, timeout_s=3600)


def run(cluster: VirtualCluster, job: Job, *more: str) -> Ended:
    """Submit a job as its user, wait for its end, and read its time. Raises ClusterError without a time."""
    directory = job.application.directory(job.user)
    number = cluster.submit(f"{directory}/sbatch", *options(job), *more, user=job.user, cwd=directory)
    end = cluster.wait_job(number, timeout_s=2 * LONGEST_S)
    found = re.search(TIME, end.output, re.MULTILINE)
    if not found:
        raise ClusterError(
            f"{job.user}'s job {number} ({job.name}) is {end.state}, without a time: {end.output[-500:]}"
        )
    return Ended(number, float(found[1]))


def exported(setting: Parametrization) -> str:
    """Return the option of `sbatch` that passes this setting to a job as variables."""
    return "--export=" + ",".join(("ALL", *(f"{VARIABLES[name]}={value}" for name, value in setting.items())))


EXPLAINED = re.compile(r"^reprise: (\w+): .*$", re.MULTILINE)


def ask_only(cluster: VirtualCluster, jobs: Sequence[Job]) -> list[str]:
    """Submit jobs on hold, so that they never run; return the verdict on each job."""
    verdicts = []
    for job in jobs:
        directory = job.application.directory(job.user)
        words = ["sbatch", "--hold", "--reprise=explain", *options(job), f"{directory}/sbatch"]
        done = cluster.run(words, user=job.user, cwd=directory)
        found = EXPLAINED.search(done.stderr)
        if not found:
            raise ClusterError(f"sbatch --reprise=explain printed no verdict for {job.name}: {done.stderr.strip()}")
        verdicts.append(found[1])
    for user in {job.user for job in jobs}:
        cluster.run(["scancel", f"--user={user}"])
    return verdicts


def logged(cluster: VirtualCluster, job_ids: Sequence[int]) -> tuple[list[Record], dict[int, Decision]]:
    """Return all records, and the newest decision of each job, from a copy of the cluster's database."""
    with TemporaryDirectory() as directory:
        for file in cluster.path(DATABASE).parent.glob(f"{Path(DATABASE).name}*"):
            shutil.copy(file, directory)
        with Database.open(Path(directory) / Path(DATABASE).name) as database:
            found = {number: database.decisions_of_job(cluster.spec.name, number, limit=1) for number in job_ids}
            records = list(database.records())
    return records, {number: decisions[0] for number, decisions in found.items() if decisions}
