# SPDX-License-Identifier: Apache-2.0
"""Shares of a pool of I/O forwarders under every policy, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reprise.matcher.arbiter.aggregate_bandwidth import Expected, expected
from reprise.matcher.arbiter.forwarder_policies import Infeasible, Policy, allocate
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share
from reprise.matcher.arbiter.share_reason import reasons

MOST_NAMED = 8
"""Maximum number of jobs with unknown bandwidth that the text names."""


@dataclass(frozen=True)
class PolicyPlan:
    """Shares under one policy, and the reason for each, by job id; or the reason why there are none (`infeasible`)."""

    policy: Policy
    infeasible: str = ""
    shares: Mapping[str, Share] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    forwarders: int = 0
    expected: Expected = field(default_factory=lambda: Expected(0.0, ()))


def plan(jobs: Sequence[Job], pool: Pool) -> list[PolicyPlan]:
    """Return the shares of the running jobs under each policy, as if all jobs started at once.

    ORACLE is credited with as many forwarders as it gives.
    """
    return [_under(policy, jobs, pool) for policy in Policy]


def _under(policy: Policy, jobs: Sequence[Job], pool: Pool) -> PolicyPlan:
    found = allocate(policy, jobs, pool)
    if isinstance(found, Infeasible):
        return PolicyPlan(policy, found.reason)
    return PolicyPlan(
        policy,
        shares=found.shares,
        reasons=reasons(policy, jobs, pool, found.shares),
        forwarders=found.forwarders,
        expected=expected(jobs, found.shares, None if policy is Policy.ORACLE else pool.forwarders),
    )


def document(plans: Sequence[PolicyPlan]) -> dict[str, Any]:
    """Return the plans as a JSON object; docs/reference/commands.md describes its keys."""
    return {
        "policies": [
            {
                "policy": one.policy.value,
                "infeasible": one.infeasible,
                "forwarders": one.forwarders,
                "bandwidth": one.expected.bandwidth,
                "unknown": list(one.expected.unknown),
                "jobs": [
                    {"id": job, "forwarders": share.forwarders, "shared": share.shared, "reason": one.reasons[job]}
                    for job, share in one.shares.items()
                ],
            }
            for one in plans
        ]
    }


def text(plans: Sequence[PolicyPlan], jobs: Sequence[Job], explained: Policy) -> str:
    """Return a table of all plans, and the reasons for the shares under the policy `explained`."""
    possible = [one for one in plans if not one.infeasible]
    rows = [["job", *(one.policy.value for one in possible)]]
    rows += [[printable(job.id), *(_cell(one.shares[job.id]) for one in possible)] for job in jobs]
    rows.append(["forwarders", *(str(one.forwarders) for one in possible)])
    rows.append(["MB/s", *(f"{one.expected.bandwidth:.1f}" for one in possible)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    lines += _left_out(possible)
    lines += [f"{one.policy.value}: {one.infeasible}" for one in plans if one.infeasible]
    shown = next(one for one in plans if one.policy is explained)
    if shown.reasons:
        lines += ["", f"shares under {explained.value}:"]
        lines += [f"  {printable(job)}: {_words(shown.shares[job])}: {why}" for job, why in shown.reasons.items()]
    return "\n".join(lines)


def _left_out(plans: Sequence[PolicyPlan]) -> list[str]:
    """Return a line for each list of jobs with unknown bandwidth, with the policies under which these are unknown."""
    policies: dict[tuple[str, ...], list[str]] = {}
    for one in plans:
        if one.expected.unknown:
            policies.setdefault(tuple(one.expected.unknown), []).append(one.policy.value)
    return [
        f"MB/s under {', '.join(names)} leaves out jobs whose curves lack their number: "
        + ", ".join(map(printable, unknown[:MOST_NAMED]))
        + (f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else "")
        for unknown, names in policies.items()
    ]


def printable(name: str) -> str:
    """Return a name with its control characters replaced, so that a terminal shows it in one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _cell(share: Share) -> str:
    return "shared" if share.shared else str(share.forwarders)


def _words(share: Share) -> str:
    if share.shared:
        return "a shared forwarder"
    if not share.forwarders:
        return "direct access"
    return f"{share.forwarders} forwarder{'s' if share.forwarders > 1 else ''}"
