# SPDX-License-Identifier: Apache-2.0
"""Storage of decisions, which are the matcher's answers, and of the jobs that they were made for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reprise.database.connection import ALL_ROWS
from reprise.database.entities import Decision
from reprise.database.errors import NotFoundError
from reprise.database.masked_columns import masked_cell
from reprise.database.row_codec import Cell, Table
from reprise.database.store import Store

DECISION = Table("decision", Decision, finite=True)
TOLD_AT = "told_at"
"""Metadata key of the time, in Unix seconds, at which a job reported the identity of its program."""


class Decisions(Store):
    """The stored decisions, with methods to add and find decisions, and to store what their jobs report later."""

    def add_decision(self, decision: Decision) -> None:
        """Add a decision; its id must be new."""
        self.add_decision_rows([DECISION.encode(decision)])

    def add_decision_rows(self, rows: Sequence[Mapping[str, Cell]]) -> None:
        """Add rows that `DECISION.encode` returned, either all rows or none."""
        with self._write() as connection:
            DECISION.insert(connection, rows)

    def decisions_without_job(self, user: str, since: float, until: float) -> Sequence[str]:
        """Return the ids of a user's decisions that were made at submission and that no job has reported, oldest first.

        Only decisions from `since` (inclusive) to `until` (exclusive) are returned, in Unix seconds.
        """
        sql = (
            "SELECT id FROM decision WHERE decision.user = :user AND at >= :since AND at < :until AND job_id IS NULL"
            " AND point = 'submit' ORDER BY at, id"
        )
        return [row[0] for row in self._read(sql, {"user": user, "since": since, "until": until})]

    def clusters_of_job(self, job_id: int) -> Sequence[str]:
        """Return the sorted names of the clusters for which a decision or outcome of a job with this id is stored."""
        rows = self._read(
            "SELECT cluster FROM decision WHERE job_id = :job UNION SELECT cluster FROM outcome WHERE job_id = :job"
            " ORDER BY cluster",
            {"job": job_id},
        )
        return [row[0] for row in rows]

    def decision(self, decision_id: str) -> Decision:
        """Return the decision with this id. Raise NotFoundError if there is none."""
        rows = self._read("SELECT * FROM decision WHERE id = ?", (decision_id,))
        if not rows:
            raise NotFoundError(
                f"no decision with id {decision_id!r}: check the id; decisions older than the retention are deleted"
            )
        return DECISION.decode(rows[0])

    def link_job(
        self,
        decision_id: str,
        cluster: str,
        job_id: int,
        array_task: int | None,
        *,
        uid: int | None = None,
        confirmed: bool = False,
    ) -> bool:
        """Store the job and the cluster that a decision was made for, and return whether this changed the decision.

        If a job is already stored, it is kept, unless the new job is `confirmed` and the stored job is not. The tasks
        of a job array share one decision, which stores only one of these tasks; the other tasks are found by their
        outcomes. A job reports the id of its decision itself, so a user could report the id of another user's decision.
        A decision of a user other than `uid` is therefore left unchanged, unless `uid` is None.
        """
        with self._write() as connection:
            changed = connection.execute(
                "UPDATE decision SET cluster = :cluster, job_id = :job, array_task = :task"
                " WHERE id = :id AND (:uid IS NULL OR uid = :uid) AND (job_id IS NULL OR :confirmed AND NOT EXISTS ("
                "  SELECT 1 FROM outcome WHERE decision_id = :id AND uid = decision.uid AND confirmed = 1"
                "  AND cluster = decision.cluster AND job_id = decision.job_id))",
                {
                    "id": decision_id,
                    "cluster": cluster,
                    "job": job_id,
                    "task": array_task,
                    "uid": uid,
                    "confirmed": confirmed,
                },
            ).rowcount
        return bool(changed)

    def tell_program(self, decision_id: str, uid: int, identity: Mapping[str, str], at: float) -> None:
        """Add a program's identity, which its job reported at `at` (Unix seconds), to the decision's metadata.

        Another user's decision is left unchanged.
        """
        mine = {"id": decision_id, "uid": uid}
        with self._write() as connection:
            row = connection.execute("SELECT metadata FROM decision WHERE id = :id AND uid = :uid", mine).fetchone()
            if row is not None:
                metadata = json.dumps({**json.loads(row[0]), **identity, TOLD_AT: at}, separators=(",", ":"))
                connection.execute(
                    "UPDATE decision SET metadata = :metadata WHERE id = :id AND uid = :uid",
                    mine | {"metadata": masked_cell(metadata)},
                )

    def told_programs(self, uid: int, since: float, latest: int) -> Sequence[Mapping[str, Any]]:
        """Return the metadata of a user's decisions since `since` whose jobs have reported their program's identity.

        The decisions are ordered by the time of the report, oldest first.

        Only the user's `latest` most recent decisions are read; reading 1,000 takes 10 ms.
        """
        told_at = f"CAST(json_extract(metadata, '$.{TOLD_AT}') AS DOUBLE PRECISION)"
        sql = (
            "SELECT metadata FROM (SELECT at, metadata FROM decision WHERE uid = :uid AND at >= :since"  # noqa: S608 (a constant of this module)
            f" ORDER BY at DESC LIMIT :latest) AS mine WHERE {told_at} >= :since ORDER BY {told_at}"
        )
        rows = self._read(sql, {"uid": uid, "since": since, "latest": latest})
        return [json.loads(row[0]) for row in rows]

    def decisions_of_job(
        self, cluster: str, job_id: int, *, uid: int | None = None, limit: int | None = None
    ) -> Sequence[Decision]:
        """Return the decisions about a job, newest first: those linked to the job, and those that its outcomes name.

        With `uid`, return only that user's decisions; with `limit`, at most that number. Several jobs may have the same
        id, because job ids start again if Slurm's state is lost; time and user distinguish these jobs.
        """
        rows = self._read(
            "SELECT * FROM decision WHERE cluster = :cluster AND job_id = :job AND (:uid IS NULL OR uid = :uid)"
            " UNION SELECT decision.* FROM outcome JOIN decision ON decision.id = outcome.decision_id"
            " AND decision.uid = outcome.uid AND decision.cluster = outcome.cluster"
            " WHERE outcome.cluster = :cluster AND outcome.job_id = :job AND (:uid IS NULL OR outcome.uid = :uid)"
            " ORDER BY at DESC, id DESC LIMIT :limit",
            {"cluster": cluster, "job": job_id, "uid": uid, "limit": ALL_ROWS if limit is None else limit},
        )
        return [DECISION.decode(row) for row in rows]
