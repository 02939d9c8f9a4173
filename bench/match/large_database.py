# SPDX-License-Identifier: Apache-2.0
"""Fill a database with records of the tuned jobs of a large site."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

from bench.match.large_site import Site, distinct
from reprise.database import Database
from reprise.database.entities import Measurement, Record, Scope
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.sketch import sketch

BATCH = 2000  # number of records written in one transaction
COMPONENTS = ("openmpi-collectives", "sro")


def record(rng: random.Random, job: JobMetadata, cluster: str = "test") -> Record:
    """Return a record that a campaign for this job could have written, with random settings and a random gain."""
    component = rng.choice(COMPONENTS)
    if component == "sro":
        context: dict[str, Any] = {"cluster": cluster, "nodes": job.nodes, "tasks_per_node": job.tasks_per_node}
        environment = {"SRO_BLOCK_SIZE": str(4096 * rng.randint(1, 999)), "SRO_WINDOW": str(rng.randint(1, 999))}
        conflicts = ["SRO_*"]
    else:
        context = {"cluster": cluster, "nodes": job.nodes, "tasks_per_node": job.tasks_per_node, "openmpi": ["4.1.4"]}
        rules = f"/var/lib/reprise/artifacts/{rng.getrandbits(256):064x}.conf"
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": rules,
        }
        conflicts = ["OMPI_MCA_coll_tuned_*"]
    gain = rng.uniform(0.02, 0.4)
    return Record(
        component=component,
        component_version="1",
        scope=Scope.APPLICATION,
        created_at=job.submit_time + 3600,
        context=context,
        metadata=dataclasses.replace(job, script=sketch(script_of(job))).to_json(),
        parametrization={"value": rng.randint(1, 999)},
        environment=environment,
        conflicts=conflicts,
        default=Measurement(10.0, 9.9, 10.1, 20),
        tuned=Measurement(10.0 * (1 - gain), 9.8 * (1 - gain), 10.2 * (1 - gain), 20),
        gain=gain,
        gain_low=gain - 0.01,
        gain_high=gain + 0.01,
    )


def fill(path: Path, site: Site, rng: random.Random, count: int, cluster: str = "test") -> dict[str, int]:
    """Write records of `count` jobs to a new database; return the number of different values of each field."""
    jobs: list[JobMetadata] = []
    with Database.open(path, create=True) as database:
        for first in range(0, count, BATCH):
            batch = list(site.jobs(min(BATCH, count - first)))
            database.add_records([record(rng, job, cluster) for job in batch])
            jobs += batch
    return distinct(jobs)


def script_of(job: JobMetadata) -> str:
    """Return the text of a batch script for a job of `bench.match.large_site`."""
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={job.job_name}",
        f"#SBATCH --nodes={job.nodes} --ntasks-per-node={job.tasks_per_node}",
        f"#SBATCH --partition={job.partition} --account={job.account}",
        "#SBATCH --time=04:00:00",
        f"module load {' '.join(job.modules)}",
        "export OMP_NUM_THREADS=1",
        f"cd {job.directory}",
        " ".join([job.launcher, job.path, *(f"--{key}={value}" for key, (value,) in job.options.items())]),
        "",
    ]
    return "\n".join(lines)
