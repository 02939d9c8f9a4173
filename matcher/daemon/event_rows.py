# SPDX-License-Identifier: Apache-2.0
"""Journal entries for this matcher's decisions, outcomes and program identities, and for rows forwarded by replicas."""

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
"""Bytes of memory that forwarded rows take per byte of the request that contains them; 2 to 3 were measured."""


def decision_entry(made: Decided, elapsed_ms: float, volume: Volume, *, forward: bool) -> Entry:
    """Return the entry for a decision; if its user has used up the daily volume, the row is shortened or left out.

    If `forward` is True, the row is also stored for forwarding to the primary matcher.
    """
    decision = made.explained(elapsed_ms)
    log_line = line(
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
            return Entry(log_line, uid=decision.uid)

    def put_out(database: DaemonDatabase) -> None:
        database.put_out(json.dumps({"kind": "decision", "row": row}))

    return Entry(log_line, put_out if forward else None, decision=row, uid=decision.uid, size=bytes_of(row))


def outcome_entry(
    outcome: protocol.Outcome, cluster: str, at: float, watch: Watch, volume: Volume, *, confirmed: bool, forward: bool
) -> Entry:
    """Return the entry for a job's report of its start, first step or end.

    `cluster` is the configured cluster. `confirmed` means that a trusted uid, not a user, reports the end.
    """
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

    log_line = line(outcome.state, job=job.id, uid=job.uid, verdict=outcome.verdict, decision=outcome.decision)
    if not volume.takes_report(job.uid):
        return Entry(log_line, uid=job.uid)
    decision = row.decision_id if confirmed else None
    return Entry(log_line, write, written=partial(watch.ended, decision) if decision else None, uid=job.uid)


def told_entry(decision: str, uid: int, identity: Mapping[str, str], at: float) -> Entry:
    """Return the entry for the program identity that a job reported at `at`; it is not forwarded to the primary."""

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
    """Return the entry for the decisions and outcomes that a replica forwards in a request of `size` bytes.

    For each row that can never be written, `refused` is called with the error; the other rows are written. `done`
    becomes the entry's `done` callback.
    """
    ended: list[str] = []

    def write(database: DaemonDatabase) -> None:
        ended.clear()  # `write` is called again after a failure
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

    log_line = line("forwarded", count=len(forward.entries))
    return Entry(log_line, write, written=written, done=done, size=FORWARDED_FACTOR * size)


def _take(database: DaemonDatabase, one: protocol.Forwarded) -> str | None:
    """Write a forwarded row; return the decision's id if the decision's job has ended or may have ended."""
    if one.kind == "decision":
        row = _row(one.row, DECISION.columns())
        database.take_decision_row(row)
        return row["id"] if row["block"] else None  # the job's end may have arrived first, through another matcher
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
    if row.decision_id:  # `link_job` checks the user, and whether another job is linked already
        database.link_job(
            row.decision_id, row.cluster, row.job_id, row.array_task, uid=row.uid, confirmed=row.confirmed
        )
