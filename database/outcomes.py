# SPDX-License-Identifier: Apache-2.0
"""Outcomes: results of jobs. A row is one start of one job (or array task) of one user.

Reports from jobs arrive over a socket: they may be lost, repeated, or out of order. Jobs are requeued under their old
id, and job ids start again if Slurm's state is lost. So a report finds its row by the time of the start, not by the job
id alone.

Anyone who submits a job can imitate its plugin. Only slurmstepd, which is root, confirms an end; an end that a user has
sent is kept for information, and is replaced by the confirmed one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from reprise.database.entities import Decision, Outcome
from reprise.database.row_codec import Table
from reprise.database.store import Store

OUTCOME = Table("outcome", Outcome)

# Maximum seconds between two reports of the same start. A requeued batch job starts again no earlier than about two
# minutes later, because slurmctld lets its credential expire first.
SAME_START_S = 5.0
# Maximum seconds between two times of the same start. A report of an end computes it from the run time measured on the
# node; a report of a start has the daemon's time. They differ by delays and by adjustments of the daemon's clock.
SAME_RUN_S = 60.0

# The runs of a job do not overlap: a report of a time within a run belongs to that run.
_OF_JOB = "cluster = :cluster AND job_id = :job_id AND array_task IS :array_task AND uid = :uid"
_TIMES = {"same_start": SAME_START_S, "same_run": SAME_RUN_S}

# The row of a start: that of the same start, or of a run whose end or step was reported first.
_STARTED_SQL = f"""
SELECT * FROM outcome
WHERE {_OF_JOB} AND (
  abs(started_at - :started_at) <= :same_start
  OR :started_at BETWEEN started_at - :same_run AND ended_at + :same_start
  OR started_at > :started_at AND ended_at IS NULL AND present IS NOT NULL AND decision_id IS :decision_id)
ORDER BY abs(started_at - :started_at), id DESC LIMIT 1
"""  # noqa: S608 (this module's own words)

# Candidate rows of an end: the one that it has already ended, then open ones, nearest first, then the others.
_ENDED_SQL = f"""
SELECT * FROM outcome
WHERE {_OF_JOB} AND (
  abs(started_at - :started_at) <= :same_run
  OR started_at BETWEEN :started_at AND :ended_at + :same_start AND ended_at IS NULL AND decision_id IS :decision_id)
ORDER BY ended_at IS NULL OR abs(ended_at - :ended_at) > :same_start, ended_at IS NOT NULL,
  abs(started_at - :started_at), id DESC
LIMIT 1
"""  # noqa: S608 (this module's own words)

# The latest run that a step may belong to: one that still runs, or ran at the time.
_STEP_SQL = f"""
SELECT * FROM outcome
WHERE {_OF_JOB} AND decision_id IS :decision_id
  AND :started_at BETWEEN started_at - :same_run AND coalesce(ended_at + :same_start, :started_at)
ORDER BY started_at DESC, id DESC LIMIT 1
"""  # noqa: S608 (this module's own words)


class Outcomes(Store):
    """Reports of jobs."""

    def report_start(self, outcome: Outcome) -> int:
        """Note that a job started at `outcome.started_at`, and return the row's id; a repeated report changes nothing.

        If the run's first step or its end was reported earlier, that report's row is used.
        """
        with self._write() as connection:
            known = _row(connection, _STARTED_SQL, outcome)
            if known is None:
                return _insert(connection, outcome)
            if known.ended_at is None and known.started_at > outcome.started_at + SAME_START_S:
                connection.execute(
                    "UPDATE outcome SET started_at = :started_at, applied = :applied,"
                    " unreadable = max(unreadable, :unreadable) WHERE id = :id",
                    OUTCOME.encode(outcome) | {"id": known.id},
                )
            return known.id

    def report_end(self, outcome: Outcome) -> int:
        """Note the end of a job: set `ended_at`, `elapsed_s`, `exit_status`, compute `started_at`. Return the row's id.

        This completes the row of the start or of the first step if there is one, and otherwise adds a whole
        row. A repeated report changes nothing, except that a confirmed end replaces an unconfirmed one.
        """
        with self._write() as connection:
            known = _row(connection, _ENDED_SQL, outcome)
            ended_at = outcome.ended_at or 0.0
            if known is None or (known.ended_at is not None and abs(known.ended_at - ended_at) > SAME_START_S):
                return _insert(connection, outcome)
            if known.ended_at is None or (outcome.confirmed and not known.confirmed):
                stepped = known.started_at > outcome.started_at + SAME_START_S  # the time of a step is not a start
                connection.execute(
                    "UPDATE outcome SET ended_at = :ended_at, elapsed_s = :elapsed_s, exit_status = :exit_status,"
                    " confirmed = :confirmed, verdict = :verdict, applied = :applied,"
                    " unreadable = max(unreadable, :unreadable),"
                    " decision_id = coalesce(:decision_id, decision_id),"
                    " started_at = CASE WHEN :stepped THEN :started_at ELSE started_at END"
                    " WHERE id = :id",
                    OUTCOME.encode(outcome) | {"id": known.id, "stepped": stepped},
                )
            return known.id

    def report_step(self, outcome: Outcome) -> int:
        """Note the variables of a job's first step in the row of the run at the time, and return the row's id.

        If there is no row, as for a job without a batch step, `outcome` is added.
        """
        with self._write() as connection:
            known = _row(connection, _STEP_SQL, outcome)
            if known is None:
                return _insert(connection, outcome)
            connection.execute(
                "UPDATE outcome SET present = :present, unreadable = max(unreadable, :unreadable) WHERE id = :id",
                {"present": outcome.present, "unreadable": outcome.unreadable, "id": known.id},
            )
            return known.id

    def outcomes_of_job(
        self, cluster: str, job_id: int, *, uid: int | None = None, limit: int | None = None
    ) -> Sequence[Outcome]:
        """Return all reports of a job, latest start first; array tasks and restarts have a row each.

        With `uid`, only that user's jobs count; with `limit`, at most that number of rows is returned.
        """
        rows = self._read(
            "SELECT * FROM outcome WHERE cluster = :cluster AND job_id = :job AND (:uid IS NULL OR uid = :uid)"
            " ORDER BY started_at DESC, id DESC LIMIT :limit",
            {"cluster": cluster, "job": job_id, "uid": uid, "limit": -1 if limit is None else limit},
        )
        return [OUTCOME.decode(row) for row in rows]

    def outcomes_of_decision(self, decision: Decision, *, limit: int | None = None) -> Sequence[Outcome]:
        """Return all reports of the user's jobs with the decision's id, latest start first, at most `limit` if given.

        Tasks of a job array share the decision made at their submission, and have different job ids.
        """
        rows = self._read(
            "SELECT * FROM outcome WHERE decision_id = ? AND uid = ? AND cluster = ?"
            " ORDER BY started_at DESC, id DESC LIMIT ?",
            (decision.id, decision.uid, decision.cluster, -1 if limit is None else limit),
        )
        return [OUTCOME.decode(row) for row in rows]


def _row(connection: sqlite3.Connection, sql: str, outcome: Outcome) -> Outcome | None:
    """Return the row that a report belongs to, if there is one."""
    found = connection.execute(sql, OUTCOME.encode(outcome) | _TIMES).fetchone()
    return OUTCOME.decode(found) if found else None


def _insert(connection: sqlite3.Connection, outcome: Outcome) -> int:
    return int(connection.execute(OUTCOME.insert_sql, OUTCOME.encode(outcome)).lastrowid or 0)
