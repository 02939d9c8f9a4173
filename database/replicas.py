# SPDX-License-Identifier: Apache-2.0
"""Exchange between hosts: a primary publishes a copy of its records, and replicas send messages to the primary."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from reprise.database import schema
from reprise.database.connection import Row
from reprise.database.decisions import DECISION
from reprise.database.errors import AccessError, CorruptedError, SchemaError
from reprise.database.masked_columns import masked_message, masked_row
from reprise.database.records import RECORD, USER_QUARANTINE
from reprise.database.row_codec import Cell
from reprise.database.store import SHARED_MODE, Store

COLUMNS = tuple(RECORD.columns())
_ROWS = f"SELECT {', '.join(COLUMNS)} FROM record ORDER BY id"  # noqa: S608 (names from `entities`)
# Columns that refer to rows missing from a published copy; replicas do not need these columns.
LEFT_OUT = ("campaign_id", "artifact_sha256")
_CHANGES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
_TAKE = (
    f"INSERT INTO record ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
    f" ON CONFLICT (id) DO UPDATE SET {_CHANGES}"
)
_QUARANTINES = f"SELECT {', '.join(USER_QUARANTINE.columns())} FROM user_quarantine ORDER BY record_id, uid"  # noqa: S608


class Replicas(Store):
    """Methods of a primary matcher's database and of its replicas' databases."""

    def publish_records(self, path: Path) -> int:
        """Write a copy of all records to the file `path`, and return their number.

        Raise AccessError if the file cannot be written.

        The file is a database that is never changed, only replaced as a whole, so hosts can read it even on a network
        file system.
        """
        with self.one_state():
            rows, quarantines = self._read(_ROWS), self._read(_QUARANTINES)
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            schema.migrate(copy, path, schema.load_migrations())
            copy.execute("BEGIN")
            copy.executemany(_TAKE, [_alone(row) for row in rows])
            copy.executemany(USER_QUARANTINE.insert_sql, map(dict, quarantines))
            copy.execute("COMMIT")
            data = copy.serialize()
        try:
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
                try:
                    file.write(data)
                    file.flush()
                    os.fchmod(file.fileno(), SHARED_MODE)
                    os.fsync(file.fileno())
                    Path(file.name).replace(path)
                except BaseException:
                    Path(file.name).unlink()
                    raise
        except OSError as error:
            raise AccessError(
                f"{path}: records cannot be published there ({error.strerror}): allow the user that runs the matcher "
                f"to write to {path.parent}"
            ) from error
        return len(rows)

    def take_published(self, path: Path, data: bytes) -> int:
        """Store the records of a published copy, retire all other records, and return the number of changed records.

        `data` is the content of the copy, and `path` its file, which error messages name. Raise DatabaseError if `data`
        is not a published copy.
        """
        rows, quarantines = _published(path, data)
        mine = {row["id"]: tuple(row) for row in self._read(_ROWS)}
        changed = [row for row in rows if mine.get(row[COLUMNS.index("id")]) != row]
        gone = set(mine) - {row[COLUMNS.index("id")] for row in rows}
        with self._write() as connection:
            for row in changed:
                connection.execute(_TAKE, row)
            before = {tuple(row) for row in connection.execute(_QUARANTINES)}
            for record_id, uid, *_ in before - set(quarantines):
                connection.execute("DELETE FROM user_quarantine WHERE record_id = ? AND uid = ?", (record_id, uid))
            for one in set(quarantines) - before:
                connection.execute(USER_QUARANTINE.insert_sql, dict(zip(USER_QUARANTINE.columns(), one, strict=True)))
            retired = [
                connection.execute(
                    "UPDATE record SET status = 'retired' WHERE id = ? AND status <> 'retired'", (number,)
                ).rowcount
                for number in gone
            ]
        return len(changed) + sum(map(int, retired))

    def put_out(self, message: str) -> None:
        """Store a message (JSON) for the primary until it is sent."""
        with self._write() as connection:
            connection.execute("INSERT INTO outbox (message) VALUES (?)", (masked_message(message),))

    def oldest_out(self, limit: int) -> Sequence[tuple[int, str]]:
        """Return the `limit` oldest unsent messages, with their numbers."""
        rows = self._read("SELECT id, message FROM outbox ORDER BY id LIMIT ?", (limit,))
        return [(row["id"], row["message"]) for row in rows]

    def drop_out(self, last: int) -> None:
        """Delete the messages with numbers up to `last`, after they have been sent."""
        with self._write() as connection:
            connection.execute("DELETE FROM outbox WHERE id <= ?", (last,))

    def take_decision_row(self, row: Mapping[str, Cell]) -> None:
        """Add a decision that a replica made; a decision that is already stored remains unchanged.

        The replica may have used other records than this database has. If this database lacks the decision's record,
        the stored decision refers to no record.
        """
        with self._write() as connection:
            known = connection.execute("SELECT 1 FROM record WHERE id = ?", (row.get("record_id"),)).fetchone()
            row = masked_row(DECISION.name, row if known else {**row, "record_id": None, "compared_id": None})
            connection.execute(f"{DECISION.insert_sql} ON CONFLICT (id) DO NOTHING", row)


def _alone(row: Row) -> tuple[Cell, ...]:
    return tuple(None if name in LEFT_OUT else row[name] for name in COLUMNS)


def _published(path: Path, data: bytes) -> tuple[list[tuple[Cell, ...]], list[tuple[Cell, ...]]]:
    """Return the rows of the records in a published copy, and the rows of their quarantines for single users."""
    migrations = schema.load_migrations()
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        try:
            copy.deserialize(data)
            version = schema.version_of(copy, path)
            if version != migrations[-1].version:
                raise SchemaError(
                    f"{path}: was published by another release of Reprise (schema {version}; this release needs "
                    f"schema {migrations[-1].version}): install the same release on all hosts"
                )
            rows = copy.execute(_ROWS).fetchall()
            records = [tuple(masked_row(RECORD.name, dict(zip(COLUMNS, row, strict=True))).values()) for row in rows]
            return records, [tuple(row) for row in copy.execute(_QUARANTINES)]
        except (sqlite3.Error, MemoryError) as error:  # MemoryError is raised for an empty file
            raise CorruptedError(
                f"{path}: is not a published copy of records ({error}): use the file of the primary's [matcher] publish"
            ) from error
