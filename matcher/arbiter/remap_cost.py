# SPDX-License-Identifier: Apache-2.0
"""Cost of changing the forwarders of running jobs, so that MCKP changes them only if that pays for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from reprise.matcher.arbiter.forwarder_options import Offer, Option, respects_floor
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share, fits

SECONDS_LEFT = 600.0
"""Remaining run time of a job that is assumed if it is unknown, or if the job has run for longer than expected."""


@dataclass(frozen=True)
class RemapCost:
    """Cost of a change of a job's forwarders.

    `pause_seconds` is the time without I/O that a change is assumed to cost the job: a second for a client that is
    notified of the change and connects to other forwarders, more if it polls or if forwarders hold unwritten data.
    `settle_seconds` is the minimum time between two changes of a job. Short jobs that come and go can thus cost a long
    job at most pause / settle of its time.
    """

    pause_seconds: float = 1.0
    settle_seconds: float = 10.0


def worthwhile(
    offered: Offer,
    jobs: Sequence[Job],
    pool: Pool,
    held: Mapping[str, Share],
    cost: RemapCost,
    unsettled: AbstractSet[str] = frozenset(),
) -> Offer:
    """Return the options of jobs, with the cost of changing the share that a running job holds taken into account.

    A changed job is assumed to do no I/O for `pause_seconds` and to have its new bandwidth for the rest of its expected
    run time. All options except the held one are therefore valued by

        bandwidth x (seconds left - pause) / seconds left,

    the job's average bandwidth from now to its end. The knapsack then changes shares only if the sum of these averages
    gains by it, which is the aggregate bandwidth of Bez 2020, equation 5.2. Close to its end, a job is not changed.

    The held share remains an option even if a smaller number is as fast, unless it is below the job's floor. It is the
    only option of `unsettled` jobs, which were changed less than `settle_seconds` ago.
    """
    options = {
        job.id: _valued(job, offered.options[job.id], pool, held[job.id], cost, is_settled=job.id not in unsettled)
        if job.id in held
        else offered.options[job.id]
        for job in jobs
    }
    return replace(offered, options=options)


def _valued(
    job: Job, options: Sequence[Option], pool: Pool, held: Share, cost: RemapCost, *, is_settled: bool
) -> Sequence[Option]:
    left = job.seconds_left if job.seconds_left is not None and job.seconds_left > 0 else SECONDS_LEFT
    part = max(0.0, left - cost.pause_seconds) / left
    kept, others = list[Option](), list[Option]()
    for one in options:
        if one.share == held:
            kept.append(one)
        else:
            others.append(Option(one.share, one.bandwidth * part))
    kept = kept or _still_possible(job, pool, held)
    return kept if kept and not is_settled else kept + others


def _still_possible(job: Job, pool: Pool, held: Share) -> list[Option]:
    """Return the option to keep a share that a new job would not be offered; none if it is below the job's floor."""
    number = held.forwarders
    if held.shared or job.curve is None or number not in job.curve:
        return []
    if fits(number, job, pool) and respects_floor(job, pool, number):
        return [Option(held, job.curve[number].low)]
    return []
