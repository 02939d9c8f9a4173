# SPDX-License-Identifier: Apache-2.0
"""Policies that share out a pool of I/O forwarders among running jobs (Bez 2020, sections 5.3 and 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reprise.matcher.arbiter import knapsack
from reprise.matcher.arbiter.forwarder_options import Offer, default_of, needed, offer, possible, static_number
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share, fits

BYTES = 10**6
"""Bytes in a megabyte. MCKP compares whole bytes a second, so that equal sums are equal in every order of addition."""

NO_FORWARDER = "the pool has no forwarder, and direct access is not possible: start a forwarder"


class Policy(StrEnum):
    """A rule by which the pool is shared out."""

    ZERO = "zero"
    ONE = "one"
    STATIC = "static"
    SIZE = "size"
    PROCESS = "process"
    MCKP = "mckp"
    ORACLE = "oracle"


@dataclass(frozen=True)
class Allocation:
    """Shares of all running jobs, by job id.

    Only MCKP and ZERO keep within the pool. The other policies may give more forwarders than there are. Some
    forwarders then serve several jobs.
    """

    shares: Mapping[str, Share]

    @property
    def forwarders(self) -> int:
        """Number of forwarders in use, if each of them serves one job, except the one that jobs share."""
        shares = self.shares.values()
        return sum(share.forwarders for share in shares) + any(share.shared for share in shares)


@dataclass(frozen=True)
class Infeasible:
    """No allocation exists. `reason` is one line with the cause and the remedy."""

    reason: str


def allocate(policy: Policy, jobs: Sequence[Job], pool: Pool) -> Allocation | Infeasible:
    """Return how a policy shares out the pool among the running jobs, whatever they have so far.

    - ZERO: direct access for all jobs.
    - ONE: one forwarder for each job.
    - STATIC: ceil(C F / CN), for a job with C of the system's CN compute nodes and a pool of F forwarders.
    - SIZE: F in proportion to the running jobs' compute nodes, rounded to the nearest number, halves up.
    - PROCESS: the same in proportion to their processes.
    - MCKP: the largest sum of bandwidths (`forwarder_options.py`, `knapsack.py`).
    - ORACLE: for each job the number with the largest mean bandwidth, as if the pool had no limit; for comparison only.

    STATIC, SIZE and PROCESS round down to a number that is possible for the job.
    """
    if policy is Policy.MCKP:
        return best_of(offer(jobs, pool))
    if policy is Policy.ZERO and not pool.direct and jobs:
        return Infeasible("direct access is not possible here: use another policy than zero")
    if not pool.direct and not pool.forwarders and jobs:
        return Infeasible(NO_FORWARDER)
    if policy is Policy.ORACLE:
        return Allocation({job.id: Share(_fastest(job, pool)) for job in jobs})
    number = _formula(policy, jobs, pool)
    return Allocation({job.id: Share(possible(job, pool, number(job))) for job in jobs})


def best_of(offered: Offer) -> Allocation | Infeasible:
    """Return the choice among options with the largest sum of bandwidths; among equals, the one with fewest forwarders.

    Bandwidths are rounded to whole bytes a second.
    """
    classes = [
        [knapsack.Item(one.share.forwarders, round(one.bandwidth * BYTES)) for one in options]
        for options in offered.options.values()
    ]
    chosen = knapsack.choose(classes, offered.capacity)
    if chosen is None and not all(offered.options.values()):
        return Infeasible(NO_FORWARDER)
    if chosen is None:
        return Infeasible(
            f"the running jobs need {needed(offered)} forwarders at least, and the pool has {offered.capacity}: "
            "measure the jobs without forwarders, or enlarge the pool"
        )
    pairs = zip(offered.options.items(), chosen, strict=True)
    return Allocation({job: options[index].share for (job, options), index in pairs})


def _formula(policy: Policy, jobs: Sequence[Job], pool: Pool) -> Callable[[Job], int]:
    """Return the function from a job to its number of forwarders, before it is rounded to a possible number."""
    match policy:
        case Policy.ZERO:
            return lambda _: 0
        case Policy.ONE:
            return lambda _: 1
        case Policy.SIZE:
            nodes = sum(job.nodes for job in jobs)
            return lambda job: proportional(pool.forwarders, job.nodes, nodes)
        case Policy.PROCESS:
            processes = sum(job.processes for job in jobs)
            return lambda job: proportional(pool.forwarders, job.processes, processes)
        case _:
            return lambda job: static_number(job, pool)


def proportional(forwarders: int, part: int, whole: int) -> int:
    """Return the forwarders in proportion to a part of the whole, rounded to the nearest number, halves up."""
    return (2 * forwarders * part + whole) // (2 * whole)


def _fastest(job: Job, pool: Pool) -> int:
    """Return the number with the largest mean bandwidth, the smallest of them if there are several."""
    curve = job.curve
    numbers = [number for number in curve or () if fits(number, job, pool)]
    if curve is None or not numbers:
        return default_of(job, pool)
    return max(numbers, key=lambda number: (curve[number].mean, -number))
