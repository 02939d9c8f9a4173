# SPDX-License-Identifier: Apache-2.0
"""History of a pool of forwarders, made up for a picture: jobs come and go, and a forwarder fails for some time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reprise.database import Database
from reprise.database.entities import ForwarderShare, ForwarderState

POOL = tuple(f"10.0.1.{number}:5640" for number in range(1, 9))
HOUR = 3600.0
WANTED = (0, 1, 2, 2, 4)  # forwarders of a job in this history
FAILED = (POOL[4], 7.4 * HOUR, 6.3 * HOUR)
"""The forwarder that fails, and the times before the end of the history from which and until which it fails."""


@dataclass(frozen=True)
class Job:
    """A job of the history, from `start` to `end` (Unix seconds), that gets up to `wanted` forwarders."""

    number: int
    start: float
    end: float
    wanted: int


def add_history(database: Database, cluster: str, now: float, hours: float = 26.0, seed: int = 5) -> None:
    """Store a history that ends at `now`, in which each job takes the first free forwarders when it starts."""
    jobs = list(_jobs(random.Random(seed), now - hours * HOUR, now))  # noqa: S311 (jobs)
    name, *ends = FAILED
    fails, works = (now - before for before in ends)
    served: dict[int, Sequence[str]] = {}
    moments = {fails, works, *(job.start for job in jobs), *(job.end for job in jobs if job.end < now)}
    for at in sorted(moments):
        failed = {name} if fails <= at < works else set()
        running = [job for job in jobs if job.start <= at < job.end]
        served = _shared_out(running, served, failed)
        shares = [_share(cluster, job, served[job.number]) for job in running]
        states = [
            ForwarderState(cluster, one, one not in failed, 0.0, "Connection timed out" if one in failed else "")
            for one in POOL
        ]
        database.set_forwarding(cluster, shares, states, at)


def _jobs(rng: random.Random, since: float, until: float) -> Iterator[Job]:
    at, number = since, 49_870
    while at < until:
        yield Job(number, at, at + rng.uniform(0.4, 3.2) * HOUR, rng.choice(WANTED))
        at += rng.expovariate(1 / (0.5 * HOUR))
        number += rng.randrange(1, 9)


def _shared_out(
    running: Sequence[Job], before: Mapping[int, Sequence[str]], failed: set[str]
) -> dict[int, Sequence[str]]:
    """Return the forwarders of each job: those that it has and that work, or free ones at its start."""
    served = {
        job.number: [one for one in before[job.number] if one not in failed] for job in running if job.number in before
    }
    for job in running:
        if job.number not in served:
            taken = {one for addresses in served.values() for one in addresses}
            served[job.number] = [one for one in POOL if one not in taken | failed][: job.wanted]
    return {number: tuple(addresses) for number, addresses in served.items()}


def _share(cluster: str, job: Job, served: Sequence[str]) -> ForwarderShare:
    return ForwarderShare(cluster, job.number, 5001, 0.0, served, False, 8, 256, "mckp", f"job {job.number} started")
