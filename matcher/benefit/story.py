# SPDX-License-Identifier: Apache-2.0
"""What is known of a record's jobs in production. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from database.model import Compared, Record
from matcher.benefit.evidence import FAILING, Evidence, Run
from matcher.benefit.gain import Gain, gain

WAIT_S = 8 * 86_400.0
"""So long after its decision a job that has reported no end is not waited for: it never began, or its node was lost."""


def since(record: Record) -> float:
    """From when on its jobs count, in Unix seconds: who releases it has it begin anew."""
    return record.status_at or 0.0 if record.status == "active" else 0.0


def blocks(compared: Iterable[Compared]) -> Sequence[Sequence[Compared]]:
    """The jobs of each block, in the order of the blocks' first jobs."""
    found: dict[str, list[Compared]] = {}
    for one in compared:
        found.setdefault(one.block, []).append(one)
    return sorted(found.values(), key=lambda runs: (runs[0].at, runs[0].decision_id))


def has_ended(block: Iterable[Compared], now: float) -> bool:
    """Whether no job of it is waited for."""
    return all(run.elapsed_s is not None or now - run.at >= WAIT_S for run in block)


def add(evidence: Evidence, block: Iterable[Compared]) -> None:
    """A block that has ended."""
    kinds: tuple[list[Run], list[Run]] = ([], [])
    for one in block:
        if one.elapsed_s is not None:
            kinds[one.held_out].append(Run(one.elapsed_s, bool(one.failed)))
    evidence.add(*kinds)


def measured(compared: Iterable[Compared]) -> Gain:
    """What the record gains: of jobs that succeeded, compared within each number of nodes."""
    return gain(_strata(compared).values())


def told(verdict: str, compared: Sequence[Compared]) -> str:
    """Why a record is set aside, in a line."""
    if verdict == FAILING:
        ended, failed = _counts(compared)
        return (
            f"its jobs fail more: {failed['given']} of {ended['given']}, and {failed['held_out']} of "
            f"{ended['held_out']} that were held out"
        )
    found = measured(compared)
    if found.gain is None or found.low is None or found.high is None:
        return "its jobs take longer than those that were held out"
    return (
        f"its jobs take longer: gain {found.gain:.1%} (95 %: {found.low:.1%} to {found.high:.1%}) of {found.given} "
        f"jobs over {found.held_out} that were held out"
    )


def production(compared: Sequence[Compared], now: float) -> dict[str, Any]:
    """All of it, for `reprise db records show --json`. `slower` and `failing` are evidence, 1 being nothing and `limit`
    what it takes."""
    evidence = Evidence()
    for block in blocks(compared):
        if has_ended(block, now):
            add(evidence, block)
    ended, failed = _counts(compared)
    return {
        **_gain(measured(compared)),
        "by_nodes": [
            {"nodes": nodes, **_gain(gain([stratum]))}
            for nodes, stratum in sorted(_strata(compared).items(), key=lambda one: one[0] or 0)
        ],
        "ended": ended,
        "failed": failed,
        "blocks": evidence.blocks,
        "slower": evidence.slower,
        "failing": evidence.failing,
        "limit": evidence.limit,
    }


def _gain(found: Gain) -> dict[str, Any]:
    return {
        "gain": found.gain,
        "gain_low": found.low,
        "gain_high": found.high,
        "given": found.given,
        "held_out": found.held_out,
    }


def _strata(compared: Iterable[Compared]) -> Mapping[float | None, tuple[list[float], list[float]]]:
    strata: dict[float | None, tuple[list[float], list[float]]] = {}
    for one in compared:
        if one.elapsed_s is not None and one.failed is False:
            strata.setdefault(one.nodes, ([], []))[one.held_out].append(max(one.elapsed_s, 1e-3))
    return strata


def _counts(compared: Iterable[Compared]) -> tuple[dict[str, int], dict[str, int]]:
    """Jobs that ended, and of these that failed, given and held out."""
    ended, failed = {"given": 0, "held_out": 0}, {"given": 0, "held_out": 0}
    for one in compared:
        if one.failed is not None:
            kind = "held_out" if one.held_out else "given"
            ended[kind] += 1
            failed[kind] += one.failed
    return ended, failed
