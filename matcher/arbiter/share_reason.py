# SPDX-License-Identifier: Apache-2.0
"""Reasons for the shares that a policy gives to running jobs, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reprise.matcher.arbiter.forwarder_options import Offer, Option, offer, static_number
from reprise.matcher.arbiter.forwarder_policies import Policy, proportional
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share, fits

KEPT = "it has them already, and a change would not pay for itself"


def reasons(policy: Policy, jobs: Sequence[Job], pool: Pool, shares: Mapping[str, Share]) -> dict[str, str]:
    """Return a line for each job, by job id, that says why a policy gives this share to it."""
    if policy is Policy.MCKP:
        offered = offer(jobs, pool)
        return {job.id: "; ".join(_by_knapsack(job, pool, shares[job.id], offered)) for job in jobs}
    if policy is Policy.ORACLE:
        return {job.id: _by_oracle(job, shares[job.id]) for job in jobs}
    return {job.id: _by_formula(policy, job, jobs, pool, shares[job.id]) for job in jobs}


def _by_knapsack(job: Job, pool: Pool, share: Share, offered: Offer) -> list[str]:
    options = offered.options[job.id]
    chosen = next((one for one in options if one.share == share), None)
    if job.curve is None:
        return [f"unknown application: {_default_of(share, pool)}"]
    if not any(one.bandwidth for one in options):
        return [f"no number of its curve is possible: {_default_of(share, pool)}"]
    if chosen is None:  # the share that a running job holds remains possible for it
        return [KEPT]
    found = [_choice(chosen, options)]
    largest = 0
    for number in job.curve:
        if not fits(number, job, pool):
            found.append(f"{number} is impossible: {_obstacle(number, job, pool)}")
        elif number not in {one.share.forwarders for one in options if not one.share.shared}:
            found.append(
                f"{number} is not surely faster than {largest}"
                if number <= offered.capacity
                else f"{number} exceeds the pool"
            )
        else:
            largest = number
    return found


def _default_of(share: Share, pool: Pool) -> str:
    if share.shared:
        return "the pool is too small for its default, so it shares a forwarder"
    if not share.forwarders and pool.default != 0:
        return "the pool is too small for its default, so it has direct access"
    return "the default"


def _choice(chosen: Option, options: Sequence[Option]) -> str:
    best = max(options, key=lambda one: one.bandwidth)
    text = f"{chosen.bandwidth:.1f} MB/s"
    if len(options) == 1:
        return f"{text}, its only option"
    if chosen.share.shared:
        return f"{text} at least by sharing a forwarder; no allocation without that has a larger sum"
    if chosen.share == best.share:
        return f"{text}, its best option"
    return (
        f"{text}; {best.share.forwarders} give {best.bandwidth:.1f} MB/s, but no allocation with them has a larger sum"
    )


def _obstacle(number: int, job: Job, pool: Pool) -> str:
    if number == 0:
        return "direct access is not allowed"
    if number > pool.forwarders:
        return f"the pool has {pool.forwarders}"
    return f"{job.nodes} nodes are not divisible by it"


def _by_oracle(job: Job, share: Share) -> str:
    if job.curve is None or share.forwarders not in job.curve:
        return "unknown application: the default"
    return f"{job.curve[share.forwarders].mean:.1f} MB/s, its fastest number"


def _by_formula(policy: Policy, job: Job, jobs: Sequence[Job], pool: Pool, share: Share) -> str:
    match policy:
        case Policy.ZERO:
            return "direct access for all jobs"
        case Policy.ONE:
            return "one for each job"
        case Policy.STATIC:
            part, whole, unit = job.nodes, pool.compute_nodes, "nodes of the system"
            number = static_number(job, pool)
        case Policy.SIZE:
            part, whole, unit = job.nodes, sum(one.nodes for one in jobs), "nodes of running jobs"
            number = proportional(pool.forwarders, part, whole)
        case _:
            part, whole, unit = job.processes, sum(one.processes for one in jobs), "processes of running jobs"
            number = proportional(pool.forwarders, part, whole)
    share_of_pool = f"{pool.forwarders} x {part} / {whole} {unit} = {pool.forwarders * part / whole:.2f}"
    rounded = f"rounded {'up' if policy is Policy.STATIC else ''} to {number}".replace("  ", " ")
    possible = "" if number == share.forwarders else f"; {share.forwarders} is possible"
    return f"{share_of_pool}, {rounded}{possible}"
