# SPDX-License-Identifier: Apache-2.0
"""Storage of records, whose settings the matcher may apply to jobs, and of the records' artifacts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reprise.database.campaigns import change_campaign
from reprise.database.connection import Connection
from reprise.database.entities import (
    Artifact,
    CampaignState,
    Json,
    Record,
    RecordChanges,
    RecordProfile,
    RecordStatus,
    RecordText,
    StatusChange,
    UserQuarantine,
)
from reprise.database.errors import NotFoundError
from reprise.database.gain_subject import SUBJECT_SQL
from reprise.database.joint_component import has_part
from reprise.database.record_io_kinds import KINDS_SQL
from reprise.database.row_codec import Table
from reprise.database.secret_masking import masked_text
from reprise.database.store import Store

ARTIFACT = Table("artifact", Artifact)
RECORD = Table("record", Record)
USER_QUARANTINE = Table("user_quarantine", UserQuarantine)
PROFILE = Table("profile", RecordProfile)
STATUS_CHANGE = Table("record_status", StatusChange)

FIRST_ID, LAST_ID = -(2**63 - 1), 2**63 - 1  # no row has an id beyond these
_QUARANTINED_FOR = "(SELECT json_group_array(uid) FROM user_quarantine WHERE record_id = record.id)"
_COMPUTED = ("quarantined_for", "subject", "io_kinds")
_COLUMNS = ", ".join(name for name in RecordText._fields if name not in _COMPUTED)
_TEXTS = f"SELECT {_COLUMNS}, {_QUARANTINED_FOR}, {SUBJECT_SQL}, {KINDS_SQL} FROM record"  # noqa: S608 (names from `entities`)
_CHANGED_TEXTS = f"{_TEXTS} WHERE id IN (SELECT record_id FROM record_change WHERE id > ?) ORDER BY id"  # noqa: S608
_OF_COMPONENT = f"""
SELECT * FROM record
WHERE (:status IS NULL OR status = :status) AND (:component IS NULL OR {has_part("component", ":component")})
ORDER BY id
"""  # noqa: S608 (constants of this module)
_GONE = (
    "SELECT DISTINCT record_id FROM record_change WHERE id > ?"
    " AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = record_id) ORDER BY record_id"
)


class Records(Store):
    """The stored records, with their artifacts, profiles, statuses and quarantines."""

    def add_artifact(self, artifact: Artifact) -> None:
        """Add an artifact. If an artifact with equal content is stored, change only its path and kind."""
        with self._write() as connection:
            _put_artifact(connection, artifact)

    def artifact(self, sha256: str) -> Artifact:
        """Return the artifact whose content has this SHA-256. Raise NotFoundError if there is none."""
        rows = self._read("SELECT * FROM artifact WHERE sha256 = ?", (sha256,))
        if not rows:
            raise NotFoundError(f"no artifact with SHA-256 {sha256}: run `reprise db check`")
        return ARTIFACT.decode(rows[0])

    def add_record(self, record: Record) -> int:
        """Add a record and return its id; its campaign and artifact must exist."""
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
        """Store a campaign's artifact, record, final state and summary in one transaction, and return the record's id.

        The stored record refers to the campaign and the artifact. Raise NotFoundError if there is no such campaign.
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
        """Return the record with this id. Raise NotFoundError if there is none."""
        rows = self._read("SELECT * FROM record WHERE id = ?", (record_id,))
        if not rows:
            raise _no_record(record_id)
        return RECORD.decode(rows[0])

    def records(
        self, *, status: RecordStatus | None = RecordStatus.ACTIVE, component: str | None = None
    ) -> Sequence[Record]:
        """Return the records that have this status and this component (None: any), lowest id first.

        A combination counts as a record for each of its components.
        """
        rows = self._read(_OF_COMPONENT, {"status": status, "component": component})
        return [RECORD.decode(row) for row in rows]

    def records_of_campaign(self, campaign_id: int) -> Sequence[Record]:
        """Return the records that a campaign created, lowest id first."""
        sql = "SELECT * FROM record WHERE campaign_id = ? ORDER BY id"
        return [RECORD.decode(row) for row in self._read(sql, (campaign_id,))]

    def record_texts(self, first: int = FIRST_ID, last: int = LAST_ID) -> Iterator[RecordText]:
        """Yield the records with ids from `first` to `last` (default: all), whatever their status, lowest id first."""
        rows = self._rows(f"{_TEXTS} WHERE id BETWEEN ? AND ? ORDER BY id", (first, last))
        return map(RecordText._make, rows)

    def record_counts(self) -> Mapping[tuple[str, str], int]:
        """Return the number of records for each (component, status)."""
        rows = self._read("SELECT component, status, count(*) AS number FROM record GROUP BY component, status")
        return {(row["component"], row["status"]): row["number"] for row in rows}

    def newest_record_at(self) -> float | None:
        """Return the time at which the newest record was created, in Unix seconds; None if there are no records."""
        found: float | None = self._read("SELECT max(created_at) FROM record")[0][0]
        return found

    def record_ids(self) -> Sequence[int]:
        """Return the ids of all records, whatever their status, lowest first."""
        return sorted(row[0] for row in self._rows("SELECT id FROM record"))

    def last_record_change(self) -> int:
        """Return the number of the most recent change of any record, for `record_changes`; 0 if there is no change."""
        return self._change_numbers()[1]

    def _change_numbers(self) -> tuple[int, int]:
        """Return the numbers of the first and the last change that are stored."""
        first, last = self._read("SELECT coalesce(min(id), 1), coalesce(max(id), 0) FROM record_change")[0]
        return first, last

    def record_changes(self, since: int | None) -> RecordChanges | None:
        """Return the changes of records after the change with the number `since`; None if there are none.

        If `since` is None, or so old that later changes have been deleted, all records are returned. Changes that are
        made while the result is read may be included, and will be returned again by the next call.
        """
        first, last = self._change_numbers()
        if since is None or not first - 1 <= since <= last:
            return RecordChanges(last, self.record_texts(), (), all_of_them=True)
        if since == last:
            return None
        changed = map(RecordText._make, self._rows(_CHANGED_TEXTS, (since,)))
        return RecordChanges(last, changed, [row[0] for row in self._read(_GONE, (since,))], all_of_them=False)

    def set_record_status(self, record_id: int, status: RecordStatus, *, at: float, reason: str = "") -> None:
        """Set a record's status, valid from `at` (Unix seconds). Raise NotFoundError if there is no such record.

        If the status is active, all quarantines of the record for single users end.
        """
        sql = "UPDATE record SET status = ?, status_at = ?, status_reason = ? WHERE id = ?"
        with self._write() as connection:
            if connection.execute(sql, (status, at, masked_text(reason), record_id)).rowcount == 0:
                raise _no_record(record_id)
            if status is RecordStatus.ACTIVE:
                connection.execute("DELETE FROM user_quarantine WHERE record_id = ?", (record_id,))

    def quarantine_for(self, one: UserQuarantine) -> None:
        """Quarantine a record for a single user, and add the quarantine to the record's history.

        Do nothing if the record is already quarantined for this user.

        Raise NotFoundError if there is no such record.
        """
        with self._write() as connection:
            if not connection.execute("SELECT 1 FROM record WHERE id = ?", (one.record_id,)).fetchone():
                raise _no_record(one.record_id)
            sql = f"{USER_QUARANTINE.insert_sql} ON CONFLICT DO NOTHING"
            if connection.execute(sql, USER_QUARANTINE.encode(one)).rowcount:
                connection.execute(
                    "INSERT INTO record_status (record_id, at, status, reason)"
                    " SELECT id, ?, status, ? FROM record WHERE id = ?",
                    (one.at, f"quarantined for {one.user}: {one.reason}", one.record_id),
                )

    def user_quarantines(self, record_id: int | None = None) -> Sequence[UserQuarantine]:
        """Return a record's quarantines for single users, oldest first; with None, those of all records."""
        sql = "SELECT * FROM user_quarantine WHERE :id IS NULL OR record_id = :id ORDER BY at, uid, record_id"
        return [USER_QUARANTINE.decode(row) for row in self._read(sql, {"id": record_id})]

    def set_profile(self, profile: RecordProfile) -> None:
        """Store a record's profile in place of an earlier one. Raise NotFoundError if there is no such record."""
        with self._write() as connection:
            if not connection.execute("SELECT 1 FROM record WHERE id = ?", (profile.record_id,)).fetchone():
                raise _no_record(profile.record_id)
            connection.execute("DELETE FROM profile WHERE record_id = ?", (profile.record_id,))
            connection.execute(PROFILE.insert_sql, PROFILE.encode(profile))

    def profile(self, record_id: int) -> RecordProfile | None:
        """Return a record's profile; None if none is stored."""
        rows = self._read("SELECT * FROM profile WHERE record_id = ?", (record_id,))
        return PROFILE.decode(rows[0]) if rows else None

    def status_changes(self, record_id: int) -> Sequence[StatusChange]:
        """Return all changes of a record's status since the record was created, oldest first."""
        rows = self._read("SELECT * FROM record_status WHERE record_id = ? ORDER BY at, id", (record_id,))
        return [STATUS_CHANGE.decode(row) for row in rows]


def _insert_record(connection: Connection, record: Record) -> int:
    return RECORD.add(connection, record)


def _put_artifact(connection: Connection, artifact: Artifact) -> None:
    connection.execute(
        f"{ARTIFACT.insert_sql} ON CONFLICT (sha256) DO UPDATE SET path = excluded.path, kind = excluded.kind",
        ARTIFACT.encode(artifact),
    )


def _no_record(record_id: int) -> NotFoundError:
    return NotFoundError(f"no record with id {record_id}: `reprise records list --all` shows all records")
