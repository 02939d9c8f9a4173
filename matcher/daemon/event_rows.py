# SPDX-License-Identifier: Apache-2.0
"""What is written of decisions and outcomes: by the matcher that made or heard them, and by its primary."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reprise.database.decisions import DECISION
from reprise.database.entities import Outcome
from reprise.database.errors import InvalidValueError
from reprise.database.for_daemon import DaemonDatabase
from reprise.database.outcomes import OUTCOME
from reprise.eventlog import line
from reprise.matcher.daemon.pending_writes import Entry
from reprise.matcher.daemon.quarantine_watch import Watch
from reprise.matcher.daemon.stored_volume import Volume, bytes_of, short
from reprise.matcher.decision.decide import Decided
from reprise.matcher.wire import protocol

FORWARDED_FACTOR = 3
"""Memory that forwarded rows take, for each byte of the request that they came in (measured: 2 to 3)."""


def decision_entry(made: Decided, elapsed_ms: float, volume: Volume, *, forward: bool) -> Entry:
    """In the form that its user has volume for. With `forward`, it is kept for the primary too."""
    decision = made.explained(elapsed_ms)
    told = line(
        "decision",
        id=decision.id,
        user=decision.user,
        job=decision.job_id,
        point=decision.point,
        verdict=decision.verdict,
        score=decision.score,
        record=decision.record_id,
        ms=decision.elapsed_ms,
    )
    row = DECISION.encode(decision)
    if not volume.takes_whole(decision.uid, bytes_of(row)):
        row = DECISION.encode(short(decision, len(str(row["metadata"]))))
        if not volume.takes_short(decision.uid, bytes_of(row), is_evidence=decision.block is not None):
            return Entry(told, uid=decision.uid)

    def put_out(database: DaemonDatabase) -> None:
        database.put_out(json.dumps({"kind": "decision", "row": row}))

    return Entry(told, put_out if forward else None, decision=row, uid=decision.uid, size=bytes_of(row))


def outcome_entry(
    outcome: protocol.Outcome, cluster: str, at: float, watch: Watch, volume: Volume, *, confirmed: bool, forward: bool
) -> Entry:
    """`cluster` is the configured one; `confirmed`: whoever reports the end is no user."""
    job = outcome.job
    ended = outcome.state == "ended"
    row = Outcome(
        cluster=job.cluster or cluster,
        job_id=job.id,
        array_task=job.array_task,
        uid=job.uid,
        verdict=outcome.verdict,
        started_at=at - (outcome.elapsed_s or 0.0) if ended else at,
        decision_id=outcome.decision,
        applied=outcome.applied,
        ended_at=at if ended else None,
        elapsed_s=outcome.elapsed_s if ended else None,
        exit_status=outcome.exit_status if ended else None,
        unreadable=outcome.unreadable,
        present=outcome.present,
        confirmed=confirmed,
    )

    def write(database: DaemonDatabase) -> None:
        _report(database, outcome.state, row)
        if forward:
            cells = {name: cell for name, cell in OUTCOME.encode(row).items() if name != "id"}
            database.put_out(json.dumps({"kind": "outcome", "state": outcome.state, "row": cells}))

    told = line(outcome.state, job=job.id, uid=job.uid, verdict=outcome.verdict, decision=outcome.decision)
    if not volume.takes_report(job.uid):
        return Entry(told, uid=job.uid)
    decision = row.decision_id if confirmed else None
    return Entry(told, write, written=partial(watch.ended, decision) if decision else None, uid=job.uid)


def told_entry(decision: str, uid: int, identity: Mapping[str, str], at: float) -> Entry:
    """Who the program of a decision's job is, as the job told at `at`. It stays with the matcher that asked."""

    def write(database: DaemonDatabase) -> None:
        database.tell_program(decision, uid, identity, at)

    return Entry(line("told", decision=decision, uid=uid), write, uid=uid)


def forwarded_entry(
    forward: protocol.Forward,
    watch: Watch,
    size: int,
    *,
    refused: Callable[[Exception], object],
    done: Callable[[bool], object],
) -> Entry:
    """What a replica has decided and heard, in a request of `size` bytes. `refused` is told of what can never be
    written; the rest is. `done`: as the entry's."""

    ended: list[str] = []

    def write(database: DaemonDatabase) -> None:
        ended.clear()  # it may be called again
        for one in forward.entries:
            try:
                decision = _take(database, one)
            except (InvalidValueError, TypeError, ValueError) as error:
                refused(error)
            else:
                if decision:
                    ended.append(decision)

    def written() -> None:
        for decision in ended:
            watch.ended(decision)

    told = line("forwarded", count=len(forward.entries))
    return Entry(told, write, written=written, done=done, size=FORWARDED_FACTOR * size)


def _take(database: DaemonDatabase, one: protocol.Forwarded) -> str | None:
    """Returns a decision whose job has ended, or may have."""
    if one.kind == "decision":
        row = _row(one.row, DECISION.columns())
        database.take_decision_row(row)
        return row["id"] if row["block"] else None  # its end may have come first, by another way
    cells = {name: one.row.get(name) for name in OUTCOME.columns() if name != "id"}
    reported = Outcome(**{**cells, "confirmed": bool(cells["confirmed"])})  # type: ignore[arg-type]
    _report(database, one.state, reported)
    return reported.decision_id if reported.confirmed else None


def _row(cells: Mapping[str, Any], columns: list[str]) -> dict[str, Any]:
    return {name: cells.get(name) for name in columns}


def _report(database: DaemonDatabase, state: str | None, row: Outcome) -> None:
    if state == "ended":
        database.report_end(row)
    elif state == "step":
        database.report_step(row)
    else:
        database.report_start(row)
    if row.decision_id:  # another user's decision is left alone, and so is one that has its job
        database.link_job(
            row.decision_id, row.cluster, row.job_id, row.array_task, uid=row.uid, confirmed=row.confirmed
        )
