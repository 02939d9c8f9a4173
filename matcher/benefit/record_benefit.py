# SPDX-License-Identifier: Apache-2.0
"""Results of a record in production, which are its gain and the evidence that it is harmful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reprise.database.entities import Compared, Record
from reprise.matcher.benefit.harm_test import FAILING, Evidence, Run
from reprise.matcher.benefit.production_gain import Block, Gain, gain
from reprise.matcher.benefit.shared_evidence import shared_out

DAY_S = 86_400.0
WAIT_S = 8 * DAY_S
"""Seconds for which a decision's job is awaited; a job that has not ended by then never began, or its node was lost."""
FILL_S = 60 * DAY_S
"""Seconds that a block waits to be full. A block that is older stays incomplete, probably because the daemon restarted.
"""


def since(record: Record) -> float:
    """Return the time from which the record's jobs count, in Unix seconds.

    After a record has been released from quarantine, its earlier jobs no longer count.
    """
    return record.status_at or 0.0 if record.status == "active" else 0.0


def blocks(compared: Iterable[Compared]) -> Sequence[Sequence[Compared]]:
    """Return the jobs grouped by block; blocks are in the order of their first jobs."""
    found: dict[str, list[Compared]] = {}
    for one in compared:
        found.setdefault(one.block, []).append(one)
    return sorted(found.values(), key=lambda runs: (runs[0].at, runs[0].decision_id))


def waits_until(block: Sequence[Compared]) -> float:
    """Return the time until which a block waits for its jobs, in Unix seconds; 0 if the block is complete.

    The result must not depend on which jobs are held out; otherwise the evaluated blocks would be biased.
    """
    if len(block) < block[0].size:
        return block[0].at + FILL_S
    return max((run.at + WAIT_S for run in block if run.elapsed_s is None), default=0.0)


def add(evidence: Evidence, block: Iterable[Compared]) -> None:
    """Add a block to the evidence; the block must no longer wait for jobs."""
    kinds: tuple[list[Run], list[Run]] = ([], [])
    for one in block:
        if one.elapsed_s is not None:
            kinds[one.held_out].append(Run(one.elapsed_s, bool(one.failed)))
    evidence.add(*kinds)


def measured(compared: Iterable[Compared]) -> Gain:
    """Return the gain of the record, computed from jobs that succeeded and were compared within their blocks.

    If there are several users, no user contributes more blocks than all other users together.
    """
    return gain(map(_seconds, shared_out(_that_tell(compared))))


def told(verdict: str, compared: Sequence[Compared]) -> str:
    """Return the reason for quarantining a record, in one line."""
    if verdict == FAILING:
        ended, failed = _counts(compared)
        return (
            f"its jobs fail more often: {failed['given']} of {ended['given']}, compared with {failed['held_out']} of "
            f"{ended['held_out']} held-out jobs"
        )
    found = measured(compared)
    if found.gain is None or found.low is None or found.high is None:
        return "its jobs take longer than the held-out jobs"
    return (
        f"its jobs take longer: gain {found.gain:.1%} (95 %: {found.low:.1%} to {found.high:.1%}) of {found.given} "
        f"jobs, compared with {found.held_out} held-out jobs"
    )


def production(compared: Sequence[Compared], now: float) -> dict[str, Any]:
    """Return all results as a JSON object, for `reprise records show --json`.

    `slower` and `failing` are the evidence of harm (1 means no evidence), and `limit` is the evidence needed for a
    verdict. These are the values for the user with the strongest evidence against the record; `by_user` has the values
    for each user.
    """
    of_users: dict[int, Evidence] = {}
    for block in blocks(compared):
        evidence = of_users.setdefault(block[0].uid, Evidence())
        if waits_until(block) <= now:
            add(evidence, block)
    worst = max(of_users.values(), key=lambda one: max(one.slower, one.failing), default=Evidence())
    ended, failed = _counts(compared)
    return {
        **_gain(measured(compared)),
        "by_nodes": [{"nodes": nodes, **_gain(gain(some))} for nodes, some in _by_nodes(compared)],
        "ended": ended,
        "failed": failed,
        **_evidence(worst),
        "blocks": sum(one.blocks for one in of_users.values()),
        "by_user": [{"uid": uid, **_evidence(one)} for uid, one in of_users.items()],
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    return {"blocks": one.blocks, "slower": one.slower, "failing": one.failing, "limit": one.limit}


def _gain(found: Gain) -> dict[str, Any]:
    return {
        "gain": found.gain,
        "gain_low": found.low,
        "gain_high": found.high,
        "given": found.given,
        "held_out": found.held_out,
    }


def _by_nodes(compared: Iterable[Compared]) -> Sequence[tuple[int | None, Sequence[Block]]]:
    """Return the blocks grouped by number of nodes, in increasing order; blocks with an unknown number come first."""
    found: dict[int | None, list[Block]] = {}
    for block in shared_out(_that_tell(compared)):
        found.setdefault(block[0].nodes, []).append(_seconds(block))
    return sorted(found.items(), key=lambda one: one[0] or 0)


def _that_tell(compared: Iterable[Compared]) -> Iterator[Sequence[Compared]]:
    """Yield the blocks with run times of both given and held-out jobs.

    The other blocks are removed before `shared_out` limits the number of each user's blocks, so that they do not count.
    """
    return (block for block in blocks(compared) if all(map(len, _seconds(block))))


def _seconds(block: Iterable[Compared]) -> Block:
    """Return the run times, in seconds, of a block's jobs that succeeded, as (given, held out)."""
    kinds: tuple[list[float], list[float]] = ([], [])
    for one in block:
        if one.elapsed_s is not None and one.failed is False:
            kinds[one.held_out].append(max(one.elapsed_s, 1e-3))
    return kinds


def _counts(compared: Iterable[Compared]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers of jobs that ended and of jobs that failed, each split into given and held-out jobs."""
    ended, failed = {"given": 0, "held_out": 0}, {"given": 0, "held_out": 0}
    for one in compared:
        if one.failed is not None:
            kind = "held_out" if one.held_out else "given"
            ended[kind] += 1
            failed[kind] += one.failed
    return ended, failed
