# SPDX-License-Identifier: Apache-2.0
"""Generate random tuned jobs and submissions of a large site, for `bench.match`.

Each user runs the same few codes again and again, in directories named after cases, with time stamps, indices and
parameters in names and options. `distinct` counts the different values of each field.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprise.matcher.submission.metadata import JobMetadata

SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "qui",
    "ro",
    "su",
    "ta",
    "ve",
    "wi",
)
KEYS = (
    *("n", "size", "steps", "order", "tol", "mesh", "verbose"),  # options whose value is one of a few numbers
    *("seed", "alpha", "dt"),  # options with a different value for each job
    *("input", "config", "restart", "prefix"),  # options whose value is a file named after the case
    *("log", "output"),  # options whose value is a file named after a time stamp
)
NODES = (1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 48, 64, 128, 256)
CLUSTER_NODES = 512
MODULES = ("gcc/12", "openmpi/4.1.4")  # loaded by every job
EPOCH = 1_700_000_000
SPAN_S = 2 * 365 * 86_400


@dataclass(frozen=True)
class Code:
    """How one user runs one code: the fields of a job, with placeholders for the parts that change from job to job."""

    user: str
    account: str
    partition: str
    name: str
    path: str
    keys: tuple[str, ...]
    nodes: tuple[int, ...]
    style: str


class Site:
    """A random site with `people` users, each with a few codes."""

    def __init__(self, rng: random.Random, people: int) -> None:
        self._rng = rng
        names = [self._word(2, 4) for _ in range(max(40, people // 2))]
        users = [f"{self._word(2, 3)}{number}" for number in range(people)]
        self._codes = [self._code(user, names) for user in users for _ in range(4)]

    def _word(self, least: int, most: int) -> str:
        return "".join(self._rng.choices(SYLLABLES, k=self._rng.randint(least, most)))

    def _code(self, user: str, names: Sequence[str]) -> Code:
        rng = self._rng
        name = rng.choice(names) + rng.choice(("", "", "", "_mpi", "3d", ".x"))
        version = f"{rng.randint(1, 6)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}"
        path = rng.choice(
            (
                f"/apps/{name}/{version}/bin/{name}",
                f"/home/{user}/{name}/build/{name}",
                f"/home/{user}/{name}_{{stamp}}/{name}",
                f"/scratch/{user}/{{case}}/{name}",
                f"/work/{self._word(2, 3)}/{user}/{{case}}_{{index}}/bin/{name}",
            )
        )
        return Code(
            user=user,
            account=f"p{rng.randrange(10, 99)}{user[:2]}",
            partition=rng.choice(("cpu", "cpu", "large", "gpu", "short")),
            name=name,
            path=path,
            keys=tuple(rng.sample(KEYS, rng.randint(0, 5))),
            nodes=tuple(rng.sample(NODES, 3)),
            style=rng.choice(("{name}", "{name}_{case}", "{name}_{index}", "{case}_{nodes}n", "run_{stamp}")),
        )

    def job(self) -> JobMetadata:
        """Return the metadata that the matcher gets for a random job of one of the site's users."""
        rng = self._rng
        code = rng.choice(self._codes)
        nodes = rng.choice(code.nodes)
        words = {
            "name": code.name,
            "case": f"case{rng.randrange(40)}",
            "index": f"{rng.randrange(500):03}",
            "stamp": str(EPOCH + rng.randrange(SPAN_S)),
            "nodes": nodes,
        }
        tasks_per_node = rng.choice((1, 24, 48, 64, 128))
        return JobMetadata(
            user=code.user,
            job_name=code.style.format_map(words),
            program=code.name,
            path=code.path.format_map(words),
            options={key: (self._option(key, words),) for key in code.keys},
            submit_time=float(EPOCH + rng.randrange(SPAN_S)),
            nodes=nodes,
            tasks=nodes * tasks_per_node,
            tasks_per_node=tasks_per_node,
            partition=code.partition,
            account=code.account,
            directory=f"/work/{code.user}/{words['case']}",
            launcher=rng.choice(("srun", "mpirun")),
            modules=MODULES,
        )

    def _option(self, key: str, words: dict[str, object]) -> str:
        rng = self._rng
        if key in ("seed", "alpha", "dt"):
            return str(rng.randrange(1_000_000))
        if key in ("input", "config", "restart", "prefix"):
            return f"{words['case']}_{words['index']}.dat"
        if key in ("log", "output"):
            return f"{words['stamp']}.log"
        return str(rng.choice((1, 2, 4, 8, 10, 16, 100, 1000)))

    def jobs(self, count: int) -> Iterator[JobMetadata]:
        """Yield `count` random jobs."""
        for _ in range(count):
            yield self.job()


def distinct(jobs: Sequence[JobMetadata]) -> dict[str, int]:
    """Return the number of different values of each field of the jobs."""
    return {
        "users": len({job.user for job in jobs}),
        "job_names": len({job.job_name for job in jobs}),
        "programs": len({job.program for job in jobs}),
        "paths": len({job.path for job in jobs}),
        "options": len({str(job.options) for job in jobs}),
    }
