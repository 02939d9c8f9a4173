# SPDX-License-Identifier: Apache-2.0
"""Versions of the database's schema, and the upgrade of a database to the newest version in one transaction.

Migrations are SQL. They may call `masked(cell)`, which returns a cell without secrets, or `masked(cell, metadata)` for
a cell about the program that a job's metadata names. Text that a migration has replaced remains in unused parts of the
file until a second step erases it; `PENDING` marks a database that still needs this step.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprise.database.errors import CorruptedError, MissingError, NotADatabaseError, SchemaError
from reprise.database.masked_columns import habits_in, masked_cell, masked_message

APPLICATION_ID = 0x52505253  # "RPRS" in the file's header, by which file(1) and Reprise recognize the database
PENDING = 1
"""Value of `user_version` while unused parts of the file may contain text that a migration has replaced; else it is
0."""
NOTED = "INSERT INTO migration (version, name, applied_at) VALUES (?, ?, ?)"


@dataclass(frozen=True)
class Migration:
    """One numbered migration, with the SQL that upgrades a database from `version` - 1 to `version`."""

    version: int
    name: str
    sql: str
    postgresql: str = ""
    """The script for PostgreSQL, if `sql` is not for both."""

    def noted(self) -> tuple[int, str, float]:
        """Return the values of NOTED."""
        return self.version, self.name, time.time()


@functools.cache
def load_migrations() -> Sequence[Migration]:
    """Return all migrations of this release, in order; they are numbered from 1 without a gap."""
    folder = importlib.resources.files("reprise.database.migrations")
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".sql")}
    found = [
        Migration(int(match[1]), match[2], texts[name], texts.get(f"{match[1]}_{match[2]}.postgresql.sql", ""))
        for name in sorted(texts)
        if (match := re.fullmatch(r"(\d{4})_(\w+)\.sql", name))
    ]
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise SchemaError("the migrations of this installation are incomplete: install Reprise again")
    return tuple(found)


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return a database's schema version, 0 for an empty database.

    Raise NotADatabaseError for the database of another program.
    """
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables == 0 and application_id in (0, APPLICATION_ID):
        return 0
    if application_id != APPLICATION_ID:
        raise NotADatabaseError(f"{path}: is the database of another program: check the path")
    try:
        version = connection.execute("SELECT max(version) FROM migration").fetchone()[0]
    except sqlite3.OperationalError as error:
        raise CorruptedError(f"{path}: is damaged ({error}): restore it from a backup") from error
    return int(version or 0)


def require_newest(version: int, path: Path | str, migrations: Sequence[Migration]) -> None:
    """Raise SchemaError, or MissingError for an empty database, unless `version` is the newest schema version."""
    newest = migrations[-1].version
    refuse_newer(version, path, newest)
    if version == 0:
        raise MissingError(f"{path}: is empty: run `{_command(path)}`")
    if version < newest:
        raise SchemaError(
            f"{path}: an older Reprise made this database (schema {version}; this release needs schema {newest}): "
            f"stop the daemon, make a copy, and run `{_command(path)}`"
        )


def _command(path: Path | str) -> str:
    return "reprise db init" if isinstance(path, Path) else "reprise db init --central"


def refuse_newer(version: int, path: Path | str, newest: int) -> None:
    """Raise SchemaError if `version` is newer than `newest`, the newest version that this release supports."""
    if version > newest:
        raise SchemaError(
            f"{path}: a newer Reprise made this database (schema {version}; this release supports schema {newest}): "
            "use the newer release"
        )


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> int:
    """Upgrade an open database (in autocommit mode) to the newest version, and return the version that it had before.

    All migrations run in one transaction. If the process is killed, the database keeps its old version, and the old
    release can continue to use it. Several processes may call this function at the same time. Call `erase_replaced`
    afterwards.
    """
    for count in (1, 2):
        connection.create_function("masked", count, _masked, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = version_of(connection, path)
        refuse_newer(found, path, migrations[-1].version)
        for migration in migrations[found:]:
            _apply(connection, migration)
        if found == 0:
            connection.execute("PRAGMA user_version = 0")  # a new database contains no replaced text
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return found


def erase_replaced(connection: sqlite3.Connection) -> str:
    """If `user_version` is PENDING, rewrite the database's file without the text that migrations replaced.

    Rewriting temporarily needs as much additional disk space as the database. Return the reason if rewriting fails,
    else "". After a failure, or if the process is killed, the database is valid, and the next call tries again.
    """
    if connection.execute("PRAGMA user_version").fetchone()[0] != PENDING:
        return ""
    try:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            return "another process reads it"
        connection.execute("PRAGMA user_version = 0")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        return str(error)
    return ""


@functools.lru_cache(maxsize=64)  # cached, since a migration's statement masks each cell twice
def _masked(cell: str | None, metadata: str | None = None) -> str | None:
    if not isinstance(cell, str):
        return cell
    return masked_message(cell) if cell.startswith('{"kind"') else masked_cell(cell, habits_in(metadata))


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in statements(migration.sql):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(NOTED, migration.noted())


def statements(script: str) -> Iterator[str]:
    """Yield the statements of an SQL script one by one, because `executescript` would commit the transaction first."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if re.sub(r"--.*", "", pending).strip():
        raise SchemaError(f"a migration ends in the middle of a statement: {pending.strip()[:60]!r}")
