# SPDX-License-Identifier: Apache-2.0
"""Outcomes: what became of jobs. A row is one start of one job (or array task) of one user.

Reports come over a socket from jobs: they may be lost, come twice, or come in the wrong order; jobs are requeued under
their old id; job ids begin again when Slurm's state is lost. So a report finds its row by the time of the start, not by
the job id alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from database.model import Decision, Outcome
from database.rows import Table
from database.store import Store

OUTCOME = Table("outcome", Outcome)

# Two reports of a start are of the same start when they are no further apart. A requeued batch job starts again after
# about two minutes at the earliest (slurmctld lets its credential expire first).
SAME_START_S = 5.0
# An end reckons its start back from the seconds measured on the node; the report of the start was dated by the daemon.
# They differ by delays of the reports and by what the daemon's clock was set by in between.
SAME_RUN_S = 60.0

_RUNS_SQL = """
SELECT * FROM outcome
WHERE cluster = :cluster AND job_id = :job_id AND array_task IS :array_task AND uid = :uid
  AND abs(started_at - :started_at) <= :within
ORDER BY ended_at IS NOT NULL, abs(started_at - :started_at), id DESC
"""

_UNDER_WAY_SQL = """
SELECT id FROM outcome
WHERE cluster = :cluster AND job_id = :job_id AND array_task IS :array_task AND uid = :uid AND ended_at IS NULL
  AND decision_id IS :decision_id
ORDER BY started_at DESC, id DESC LIMIT 1
"""


class Outcomes(Store):
    """What jobs reported."""

    def report_start(self, outcome: Outcome) -> int:
        """Note that a job started at `outcome.started_at`; a repeated report changes nothing. Returns the row's id."""
        with self._write() as connection:
            known = _runs(connection, outcome, SAME_START_S)
            return known[0].id if known else _insert(connection, outcome)

    def report_end(self, outcome: Outcome) -> int:
        """Note that a job ended: `ended_at`, `elapsed_s` and `exit_status` are set, `started_at` is reckoned from them.

        Completes the row of the start if there is one, and else adds a whole one; a repeated report changes nothing.
        Returns the row's id.
        """
        with self._write() as connection:
            known = _runs(connection, outcome, SAME_RUN_S)
            if known and known[0].ended_at is None:
                connection.execute(
                    "UPDATE outcome SET ended_at = :ended_at, elapsed_s = :elapsed_s, exit_status = :exit_status,"
                    " verdict = :verdict, applied = :applied, unreadable = max(unreadable, :unreadable),"
                    " decision_id = coalesce(:decision_id, decision_id)"
                    " WHERE id = :id",
                    OUTCOME.encode(outcome) | {"id": known[0].id},
                )
                return known[0].id
            for run in known:
                if abs((run.ended_at or 0.0) - (outcome.ended_at or 0.0)) <= SAME_START_S:
                    return run.id
            return _insert(connection, outcome)

    def report_step(self, outcome: Outcome) -> int:
        """Note what the tasks of a job's first step had, in the row of the start that goes on; `outcome` becomes a row
        where there is none, as for a job without a batch step. Returns the row's id."""
        with self._write() as connection:
            rows = connection.execute(_UNDER_WAY_SQL, OUTCOME.encode(outcome)).fetchall()
            if not rows:
                return _insert(connection, outcome)
            connection.execute(
                "UPDATE outcome SET present = :present, unreadable = max(unreadable, :unreadable) WHERE id = :id",
                {"present": outcome.present, "unreadable": outcome.unreadable, "id": rows[0]["id"]},
            )
            return int(rows[0]["id"])

    def outcomes_of_job(
        self, cluster: str, job_id: int, *, uid: int | None = None, limit: int | None = None
    ) -> Sequence[Outcome]:
        """All that was reported of a job, latest start first; array tasks and restarts have a row each.

        With `uid`, only of that user's jobs; with `limit`, at most so many.
        """
        rows = self._read(
            "SELECT * FROM outcome WHERE cluster = :cluster AND job_id = :job AND (:uid IS NULL OR uid = :uid)"
            " ORDER BY started_at DESC, id DESC LIMIT :limit",
            {"cluster": cluster, "job": job_id, "uid": uid, "limit": -1 if limit is None else limit},
        )
        return [OUTCOME.decode(row) for row in rows]

    def outcomes_of_decision(self, decision: Decision, *, limit: int | None = None) -> Sequence[Outcome]:
        """All that jobs of the decision's user reported with its id, latest start first; at most `limit`, if given.

        Tasks of a job array share the decision made at their submission, and have job ids of their own.
        """
        rows = self._read(
            "SELECT * FROM outcome WHERE decision_id = ? AND uid = ? AND cluster = ?"
            " ORDER BY started_at DESC, id DESC LIMIT ?",
            (decision.id, decision.uid, decision.cluster, -1 if limit is None else limit),
        )
        return [OUTCOME.decode(row) for row in rows]


def _runs(connection: sqlite3.Connection, outcome: Outcome, within_s: float) -> list[Outcome]:
    """Rows of the same job that started within so many seconds of `outcome`: open ones first, nearest first."""
    parameters = OUTCOME.encode(outcome) | {"within": within_s}
    return [OUTCOME.decode(row) for row in connection.execute(_RUNS_SQL, parameters)]


def _insert(connection: sqlite3.Connection, outcome: Outcome) -> int:
    return int(connection.execute(OUTCOME.insert_sql, OUTCOME.encode(outcome)).lastrowid or 0)
