# SPDX-License-Identifier: Apache-2.0
"""Numbers of forwarders that MCKP may give to each running job, with the bandwidth that each number promises.

The rules are those of Bez 2020, section 5.3, made stricter for jobs' sake in two ways:

- The smallest number is valued by its mean bandwidth, and every larger number by its lower bound. A larger number is
  offered only if its lower bound exceeds the mean of every smaller number that is offered. Noise therefore takes no
  forwarders from other jobs.
- The floor: where direct access is possible and was measured, a job gets only numbers whose lower bound exceeds its
  mean bandwidth without forwarders. The first rule implies this when direct access is the first option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share, fits


class Option(NamedTuple):
    """A share of the pool that a job may get, and the bandwidth in MB/s that it promises."""

    share: Share
    bandwidth: float


@dataclass(frozen=True)
class Offer:
    """Options of each job, by job id and in ascending order, and the number of forwarders to share out exclusively."""

    options: Mapping[str, Sequence[Option]]
    capacity: int


def offer(jobs: Sequence[Job], pool: Pool) -> Offer:
    """Return the options of running jobs.

    A job whose application is unknown has one option, the default. Its bandwidth counts as 0, because nothing is known
    about it. If the defaults of unknown jobs exceed the pool, those that started last get the option without exclusive
    forwarders instead. A job counts as unknown, too, if its curve has no possible number. If the pool has no forwarder
    and direct access is impossible, jobs have no options.

    Where direct access is impossible, the smallest options of all jobs may together exceed the pool, for instance if
    there are more jobs than forwarders. One forwarder is then reserved for sharing, and every job also has the option
    to share it. This option promises the bandwidth with one forwarder, divided by the number of running jobs. The
    estimate is low on purpose: fewer jobs will share, and those that lose least by it.
    """
    known = {job.id: options for job in jobs if (options := of_curve(job, pool))}
    defaults = {job.id: default_of(job, pool) for job in jobs if job.id not in known}
    smallest = sum(options[0].share.forwarders for options in known.values()) + sum(defaults.values())
    sharing = not pool.direct and smallest > pool.forwarders > 0
    left = capacity = pool.forwarders - sharing
    offered: dict[str, Sequence[Option]] = {}
    for job in jobs:
        if job.id in known:
            share = [_sharing(known[job.id], len(jobs))] if sharing else []
            offered[job.id] = [*share, *(one for one in known[job.id] if one.share.forwarders <= capacity)]
        else:
            given = defaults[job.id] if defaults[job.id] <= left else 0
            left -= given
            option = Option(Share(given, shared=not given and not pool.direct), 0.0)
            offered[job.id] = [option] if pool.direct or pool.forwarders else []
    return Offer(offered, capacity)


def needed(offered: Offer) -> int:
    """Return the smallest number of forwarders with which each job has one of its options."""
    return sum(min((one.share.forwarders for one in options), default=0) for options in offered.options.values())


def without_last(offered: Offer) -> tuple[Offer, list[str]]:
    """Return an offer that the pool can satisfy, and the jobs that are left out for that; they get direct access.

    The jobs that started last are left out, as many as necessary.
    """
    options = dict(offered.options)
    excess = needed(offered) - offered.capacity
    left_out = []
    for job in reversed(list(options)):
        smallest = min((one.share.forwarders for one in options[job]), default=0)
        if excess > 0 and smallest:
            excess -= smallest
            options[job] = [Option(Share(0), 0.0)]
            left_out.append(job)
    return replace(offered, options=options), left_out[::-1]


def of_curve(job: Job, pool: Pool) -> list[Option]:
    """Return the exclusive options that a job's curve supports; none if its application is unknown."""
    options: list[Option] = []
    best = 0.0
    for number, point in job.curve.points.items() if job.curve else ():
        if fits(number, job, pool) and (not options or point.low > best):
            options.append(Option(Share(number), point.low if options else point.mean))
            best = max(best, point.mean)
    return options


def respects_floor(job: Job, pool: Pool, forwarders: int) -> bool:
    """Return whether a number of forwarders surely gives a job at least the bandwidth that it has without any.

    True if direct access is impossible or was not measured.
    """
    curve = job.curve
    if forwarders == 0 or curve is None or not pool.direct or 0 not in curve:
        return True
    return forwarders in curve and curve[forwarders].low >= curve[0].mean


def default_of(job: Job, pool: Pool) -> int:
    """Return the number of forwarders of a job whose application is unknown: the site's default, or that of STATIC."""
    return possible(job, pool, static_number(job, pool) if pool.default is None else pool.default)


def static_number(job: Job, pool: Pool) -> int:
    """Return the number that the job's compute nodes entitle it to: ceil(C F / CN), with the system's nodes CN."""
    return -(-job.nodes * pool.forwarders // pool.compute_nodes)


def possible(job: Job, pool: Pool, number: int) -> int:
    """Return the largest number of forwarders up to `number` that a formula may give to the job.

    If there is none, because direct access is impossible and `number` is 0, return 1.
    """
    numbers = [one for one in (0, *pool.counts) if one <= number and fits(one, job, pool)]
    return max(numbers, default=min(1, pool.forwarders))


def _sharing(options: Sequence[Option], jobs: int) -> Option:
    """Return the option to share one forwarder with other jobs.

    If the bandwidth with one forwarder is unknown, that of the smallest option is divided by its number of forwarders.
    """
    smallest = options[0]
    return Option(Share(0, shared=True), smallest.bandwidth / max(1, smallest.share.forwarders) / jobs)
