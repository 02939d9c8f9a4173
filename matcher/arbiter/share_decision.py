# SPDX-License-Identifier: Apache-2.0
"""Decisions over time: new shares of the pool whenever the set of running jobs changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from reprise.matcher.arbiter.forwarder_names import Names, name
from reprise.matcher.arbiter.forwarder_options import offer, without_last
from reprise.matcher.arbiter.forwarder_policies import Allocation, Infeasible, Policy, allocate, best_of
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share
from reprise.matcher.arbiter.remap_cost import RemapCost, worthwhile


@dataclass(frozen=True)
class State:
    """Result of the last decision; empty at first.

    Shares, names of forwarders and the time of the last change are by job id. `shared` is the forwarder that jobs
    share, "" if there is none, and `forwarders` are the forwarders that worked.
    """

    shares: Mapping[str, Share] = field(default_factory=dict)
    names: Names = field(default_factory=dict)
    shared: str = ""
    changed_at: Mapping[str, float] = field(default_factory=dict)
    forwarders: Sequence[str] = ()


@dataclass(frozen=True)
class Decision:
    """A new state, and the running jobs whose forwarders change.

    `infeasible` is the reason if no allocation exists, else "", and `left_out` are the jobs that got direct access
    because of that. At the time `again_at`, if any, a job that was changed recently may be changed again, so that
    another decision may be better.
    """

    state: State
    changed: Sequence[str]
    infeasible: str = ""
    left_out: Sequence[str] = ()
    again_at: float | None = None


def must_decide(state: State, running: Sequence[Job], forwarders: Sequence[str]) -> bool:
    """Return whether the running jobs or the working forwarders are others than at the last decision.

    The end of a job suffices, whether or not the next job in the queue fits: the jobs that still run may use the
    forwarders that have become free.
    """
    return set(state.shares) != {job.id for job in running} or set(state.forwarders) != set(forwarders)


def decide(
    policy: Policy,
    running: Sequence[Job],
    pool: Pool,
    forwarders: Sequence[str],
    state: State,
    now: float,
    cost: RemapCost | None = None,
) -> Decision:
    """Return new shares for the running jobs, given the state after the last decision.

    `running` is in order of start. `forwarders` are the different names of the working forwarders, whose number
    replaces `pool.forwarders`. `now` is a time in seconds; changes in its future, which a clock set back leaves
    behind, are ignored. A running job's share depends on the policy:

    - STATIC never changes it.
    - MCKP changes it if that pays for itself (`remap_cost.py`).
    - The other policies change it as their formulas say, whatever it costs.

    Jobs that run without a client get direct access, and do not count for the shares of others. If MCKP has no
    allocation, the jobs that started last get direct access, as many as necessary. If direct access is impossible,
    running jobs keep their shares, and new jobs share the least used forwarder.
    """
    pool = replace(pool, forwarders=len(forwarders))
    served = [job for job in running if job.has_client]
    held = {job.id: state.shares[job.id] for job in served if job.id in state.shares}
    cost = cost or RemapCost()
    reason, left_out, again_at = "", list[str](), None
    allocation: Allocation | Infeasible
    if policy is Policy.MCKP:
        allocation, again_at = _mckp(served, pool, held, state, now, cost)
    else:
        allocation = allocate(policy, served, pool)
    if isinstance(allocation, Infeasible):
        reason = allocation.reason
        allocation, left_out = _fallback(policy, served, pool, held, cost)
    kept = held if policy is Policy.STATIC else {}
    given = {**allocation.shares, **kept}
    shares = {job.id: given.get(job.id, Share(0)) for job in running}
    names = name(shares, forwarders, state.names, state.shared)
    shared = next((names[job][0] for job, share in shares.items() if share.shared and names[job]), "")
    changed = [job for job in shares if job in state.shares and list(names[job]) != list(state.names.get(job, ()))]
    changed_at = {job: at for job, at in state.changed_at.items() if job in held} | dict.fromkeys(changed, now)
    return Decision(State(shares, names, shared, changed_at, tuple(forwarders)), changed, reason, left_out, again_at)


def _fallback(
    policy: Policy, served: Sequence[Job], pool: Pool, held: Mapping[str, Share], cost: RemapCost
) -> tuple[Allocation, list[str]]:
    """Return an allocation if the policy has none, and the jobs that get direct access because of that."""
    if policy is Policy.MCKP and pool.direct:
        offered, left_out = without_last(worthwhile(offer(served, pool), served, pool, held, cost))
        allocation = best_of(offered)
        if isinstance(allocation, Allocation):
            return allocation, left_out
    new = Share(0, shared=not pool.direct)
    return Allocation({job.id: held.get(job.id, new) for job in served}), []


def _mckp(
    served: Sequence[Job], pool: Pool, held: Mapping[str, Share], state: State, now: float, cost: RemapCost
) -> tuple[Allocation | Infeasible, float | None]:
    """Return the best allocation, and when it may become better because jobs that were changed recently have settled.

    If no allocation exists unless such jobs change again, they change again.
    """
    offered = offer(served, pool)
    changed = {job: at for job, at in state.changed_at.items() if job in held and at <= now}
    unsettled = {job: at + cost.settle_seconds for job, at in changed.items() if at + cost.settle_seconds > now}
    allocation = best_of(worthwhile(offered, served, pool, held, cost, unsettled.keys()))
    if unsettled and isinstance(allocation, Infeasible):
        return best_of(worthwhile(offered, served, pool, held, cost)), None
    return allocation, min(unsettled.values(), default=None)
