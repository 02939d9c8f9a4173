# SPDX-License-Identifier: Apache-2.0
"""Storage of outcomes, which are the results of jobs; there is one row for each start of a job or array task.

Reports from jobs arrive over a socket: they may be lost, repeated, or out of order. Jobs are requeued under their old
id, and job ids start again if Slurm's state is lost. The row that a report belongs to is therefore found by the time of
the start, not by the job id alone.

Anyone who submits a job can imitate the reports of Reprise's Slurm plugin. Only slurmstepd, which runs as root,
confirms an end. An end that a user's process reported is stored for information, until the confirmed end replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reprise.database.connection import ALL_ROWS, Connection
from reprise.database.entities import Decision, Outcome
from reprise.database.row_codec import Table
from reprise.database.store import Store

OUTCOME = Table("outcome", Outcome)

# Maximum time, in seconds, between two reports of the same start. A requeued batch job starts again about two minutes
# later at the earliest, because slurmctld first waits until the job's credential has expired.
SAME_START_S = 5.0
# Maximum difference, in seconds, between two times that are reported for the same start. The report of an end computes
# the time of the start from the run time that was measured on the node; the report of a start has the daemon's time.
# The two times differ because of delays and adjustments of the daemon's clock.
SAME_RUN_S = 60.0

# The statements below find the run that a report belongs to by job and time: the runs of a job do not overlap, so a
# report whose time falls within a run belongs to this run.
_OF_JOB = (
    "cluster = :cluster AND job_id = :job_id AND coalesce(array_task, -1) = coalesce(:array_task, -1) AND uid = :uid"
)
_OF_DECISION = "coalesce(decision_id, '') = coalesce(:decision_id, '')"
_TIMES = {"same_start": SAME_START_S, "same_run": SAME_RUN_S}

# Finds the row that the report of a start belongs to: the row of the same start, or of a run whose end or step was
# reported first.
_STARTED_SQL = f"""
SELECT * FROM outcome
WHERE {_OF_JOB} AND (
  abs(started_at - :started_at) <= :same_start
  OR :started_at BETWEEN started_at - :same_run AND ended_at + :same_start
  OR started_at > :started_at AND ended_at IS NULL AND present IS NOT NULL AND {_OF_DECISION})
ORDER BY abs(started_at - :started_at), id DESC LIMIT 1
"""  # noqa: S608 (constants of this module)

# Finds the row that the report of an end belongs to: the row that already has this end, else the row with the nearest
# start among the rows without an end, else another row of the same start.
_ENDED_SQL = f"""
SELECT * FROM outcome
WHERE {_OF_JOB} AND (
  abs(started_at - :started_at) <= :same_run
  OR started_at BETWEEN :started_at AND :ended_at + :same_start AND ended_at IS NULL AND {_OF_DECISION})
ORDER BY ended_at IS NULL OR abs(ended_at - :ended_at) > :same_start, ended_at IS NOT NULL,
  abs(started_at - :started_at), id DESC
LIMIT 1
"""  # noqa: S608 (constants of this module)

# Finds the row that the report of a step belongs to: the latest run that has not ended or that ended after the step.
_STEP_SQL = f"""
SELECT * FROM outcome
WHERE {_OF_JOB} AND {_OF_DECISION}
  AND :started_at BETWEEN started_at - :same_run AND coalesce(ended_at + :same_start, :started_at)
ORDER BY started_at DESC, id DESC LIMIT 1
"""  # noqa: S608 (constants of this module)


class Outcomes(Store):
    """The stored reports of jobs, with methods to add and find reports."""

    def report_start(self, outcome: Outcome) -> int:
        """Store that a job started at `outcome.started_at`, and return the row's id; a repeated report changes nothing.

        If the run's first step or its end has already been reported, the row of that report is used.
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
        """Store the end of a job (`ended_at`, `elapsed_s` and `exit_status`), and return the row's id.

        If there is a row from the report of the start or of the first step, this row is completed, and `started_at` is
        corrected if it is the time of a step. Otherwise, `outcome` is added as a new row. A repeated report changes
        nothing, except that a confirmed end replaces an unconfirmed end.
        """
        with self._write() as connection:
            known = _row(connection, _ENDED_SQL, outcome)
            ended_at = outcome.ended_at or 0.0
            if known is None or (known.ended_at is not None and abs(known.ended_at - ended_at) > SAME_START_S):
                return _insert(connection, outcome)
            if known.ended_at is None or (outcome.confirmed and not known.confirmed):
                # true if `started_at` in the stored row is the time of a step
                stepped = known.started_at > outcome.started_at + SAME_START_S
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
        """Record, in the run's row, how many of the settings' variables the job's first step had; return the row's id.

        If there is no row yet, for example for a job without a batch step, `outcome` is added as a new row.
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
        """Return all outcomes of a job, latest start first; each array task and each restart has a row.

        With `uid`, return only the outcomes of that user's jobs; with `limit`, return at most `limit` outcomes.
        """
        rows = self._read(
            "SELECT * FROM outcome WHERE cluster = :cluster AND job_id = :job AND (:uid IS NULL OR uid = :uid)"
            " ORDER BY started_at DESC, id DESC LIMIT :limit",
            {"cluster": cluster, "job": job_id, "uid": uid, "limit": ALL_ROWS if limit is None else limit},
        )
        return [OUTCOME.decode(row) for row in rows]

    def outcomes_of_decision(self, decision: Decision, *, limit: int | None = None) -> Sequence[Outcome]:
        """Return the outcomes of all jobs with this decision, latest start first, or the first `limit` of them.

        Only jobs of the decision's user count. The tasks of a job array share the decision that was made at submission,
        and have different job ids.
        """
        rows = self._read(
            "SELECT * FROM outcome WHERE decision_id = ? AND uid = ? AND cluster = ?"
            " ORDER BY started_at DESC, id DESC LIMIT ?",
            (decision.id, decision.uid, decision.cluster, ALL_ROWS if limit is None else limit),
        )
        return [OUTCOME.decode(row) for row in rows]


def _row(connection: Connection, sql: str, outcome: Outcome) -> Outcome | None:
    """Return the stored row that `sql` finds for a report; None if there is none."""
    found = connection.execute(sql, OUTCOME.encode(outcome) | _TIMES).fetchone()
    return OUTCOME.decode(found) if found else None


def _insert(connection: Connection, outcome: Outcome) -> int:
    return OUTCOME.add(connection, outcome)
