# SPDX-License-Identifier: Apache-2.0
"""Records, what the matcher may give to jobs, and the artifacts that they point to."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from database.campaigns import change_campaign
from database.errors import NotFoundError
from database.model import Artifact, CampaignState, Json, Record, RecordStatus
from database.rows import Table
from database.store import Store

ARTIFACT = Table("artifact", Artifact)
RECORD = Table("record", Record)


class Records(Store):
    """What campaigns found."""

    def add_artifact(self, artifact: Artifact) -> None:
        """Add an artifact; one with the same content takes the new path and kind and keeps its time."""
        with self._write() as connection:
            _put_artifact(connection, artifact)

    def artifact(self, sha256: str) -> Artifact:
        """The artifact with this content; raises NotFoundError."""
        rows = self._read("SELECT * FROM artifact WHERE sha256 = ?", (sha256,))
        if not rows:
            raise NotFoundError(f"no artifact has the SHA-256 {sha256}: run `reprise db check`")
        return ARTIFACT.decode(rows[0])

    def add_record(self, record: Record) -> int:
        """Add a record and return its id; its campaign and artifact must be there."""
        with self._write() as connection:
            return _insert_record(connection, record)

    def add_records(self, records: Iterable[Record]) -> Sequence[int]:
        """Add records in one transaction and return their ids."""
        with self._write() as connection:
            return [_insert_record(connection, record) for record in records]

    def publish(
        self,
        record: Record,
        artifact: Artifact | None,
        *,
        campaign_id: int,
        summary: Json,
        state: CampaignState = CampaignState.COMPLETE,
    ) -> int:
        """A campaign's end in one transaction: artifact, record, state and summary. Returns the record's id.

        The record gets the campaign's and the artifact's ids. Raises NotFoundError where there is no such campaign.
        """
        sha256 = None if artifact is None else artifact.sha256
        with self._write() as connection:
            change_campaign(connection, campaign_id, state, summary)
            if artifact is not None:
                _put_artifact(connection, artifact)
            return _insert_record(
                connection, dataclasses.replace(record, campaign_id=campaign_id, artifact_sha256=sha256)
            )

    def record(self, record_id: int) -> Record:
        """The record with this id; raises NotFoundError."""
        rows = self._read("SELECT * FROM record WHERE id = ?", (record_id,))
        if not rows:
            raise _no_record(record_id)
        return RECORD.decode(rows[0])

    def records(
        self, *, status: RecordStatus | None = RecordStatus.ACTIVE, component: str | None = None
    ) -> Sequence[Record]:
        """Records of one status (None: of any) and one component (None: of any), lowest id first."""
        rows = self._read(
            "SELECT * FROM record WHERE (:status IS NULL OR status = :status)"
            " AND (:component IS NULL OR component = :component) ORDER BY id",
            {"status": status, "component": component},
        )
        return [RECORD.decode(row) for row in rows]

    def changed_records(self, marks: dict[int, int]) -> Iterator[Record]:
        """The records that are new or not as they were when `marks` was last given here, of any status.

        `marks` is the caller's to keep, empty at first: for each record's id what its row was like. It is brought up to
        date as records are handed out, except that it keeps those that are there no more: see `gone_records`.
        """
        for row in self._rows("SELECT * FROM record ORDER BY id"):
            number, mark = row["id"], hash(tuple(row))
            if marks.get(number) != mark:
                marks[number] = mark
                yield RECORD.decode(row)

    def gone_records(self, marks: dict[int, int]) -> Sequence[int]:
        """The ids in `marks` of records that are there no more; they are taken out of it."""
        if self._read("SELECT count(*) FROM record")[0][0] == len(marks):
            return ()
        gone = marks.keys() - {row["id"] for row in self._rows("SELECT id FROM record")}
        for number in gone:
            del marks[number]
        return sorted(gone)

    def set_record_status(self, record_id: int, status: RecordStatus) -> None:
        """Set a record's status. Raises NotFoundError."""
        with self._write() as connection:
            if connection.execute("UPDATE record SET status = ? WHERE id = ?", (status, record_id)).rowcount == 0:
                raise _no_record(record_id)


def _insert_record(connection: sqlite3.Connection, record: Record) -> int:
    return int(connection.execute(RECORD.insert_sql, RECORD.encode(record)).lastrowid or 0)


def _put_artifact(connection: sqlite3.Connection, artifact: Artifact) -> None:
    connection.execute(
        f"{ARTIFACT.insert_sql} ON CONFLICT (sha256) DO UPDATE SET path = excluded.path, kind = excluded.kind",
        ARTIFACT.encode(artifact),
    )


def _no_record(record_id: int) -> NotFoundError:
    return NotFoundError(f"no record has the id {record_id}: `reprise db records --all` shows those there are")
