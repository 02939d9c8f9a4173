# SPDX-License-Identifier: Apache-2.0
"""Test that a migration happens completely or not at all, and that acknowledged rows survive SIGKILL."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database, errors, schema
from reprise.database.decisions import DECISION
from reprise.database.entities import RecordStatus
from reprise.database.records import RECORD
from reprise.database.schema import Migration
from reprise.database.upkeep import TABLES
from tests.places import ROOT
from tests.unit.database.test_stored import insert, stored_database
from tests.unit.database_values import campaign, decision, record

NOW = len(schema.load_migrations())
NEXT = Migration(
    NOW + 1, "colour", "ALTER TABLE campaign ADD COLUMN colour TEXT;\nUPDATE campaign SET colour = 'red';\n"
)


def test_tables_equal_the_dataclasses_and_the_document(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db", create=True) as database:
        names = [row[0] for row in database._read("SELECT name FROM sqlite_master WHERE type = 'table'")]
        real = {
            name: [(row["name"], row["type"]) for row in database._read(f"PRAGMA table_info({name})")]
            for name in names
            if not name.startswith("sqlite_")
        }
    assert _documented() == real
    assert {table.name: set(table.columns()) for table in TABLES} == {
        name: {column for column, _ in columns}
        for name, columns in real.items()
        if name not in ("migration", "record_change", "outbox")
    }


def _documented() -> dict[str, list[tuple[str, str]]]:
    tables: dict[str, list[tuple[str, str]]] = {}
    columns: list[tuple[str, str]] = []
    for line in (ROOT / "docs/reference/schema.md").read_text().splitlines():
        if heading := re.fullmatch(r"## `(\w+)`", line):
            columns = tables[heading[1]] = []
        elif column := re.match(r"\| `(\w+)` \| (\w+) \|", line):
            columns.append((column[1], column[2]))
    return tables


def test_document_states_the_version() -> None:
    first_line = (ROOT / "docs/reference/schema.md").read_text().splitlines()[0]
    assert first_line.endswith(f"version {len(schema.load_migrations())}")


def test_older_database_is_refused_until_init_migrates_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.db"
    with Database.open(file, create=True) as database:
        number = database.add_campaign(campaign())
    steps = [*schema.load_migrations(), NEXT]
    monkeypatch.setattr(schema, "load_migrations", lambda: steps)
    with pytest.raises(
        errors.SchemaError,
        match=rf"older Reprise made this database \(schema {NOW}; this release needs schema {NOW + 1}\).*db init",
    ):
        Database.open(file)
    with Database.open(file, create=True) as database:
        assert (database.migrated_from, database.schema_version()) == (NOW, NOW + 1)
        assert database._read("SELECT colour FROM campaign")[0]["colour"] == "red"
        assert database.campaign(number).spec == {"seed": 7}


def test_a_migration_that_fails_leaves_the_old_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database.open(tmp_path / "a.db", create=True).close()
    broken = Migration(NOW + 2, "broken", "CREATE TABLE half (a);\nINSERT INTO nowhere VALUES (1);\n")
    steps = [*schema.load_migrations(), NEXT, broken]
    monkeypatch.setattr(schema, "load_migrations", lambda: steps)
    with pytest.raises(errors.DatabaseError, match="nowhere"):
        Database.open(tmp_path / "a.db", create=True)
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        assert schema.version_of(connection, tmp_path) == NOW
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchall()


def _killed_in_migration(file: Path, before: int) -> bool:
    """Migrate in a child process that kills itself before statement number `before`.

    Return whether it reached that statement.

    Statements are counted from 1, the first statement of the migration.
    """
    child = os.fork()
    if child == 0:
        real, given = schema.migrate, 0

        def killing(_statement: str) -> None:
            nonlocal given
            given += 1
            if given == before:
                os.kill(os.getpid(), signal.SIGKILL)

        def traced(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> int:
            connection.set_trace_callback(killing)
            return real(connection, path, migrations)

        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(schema, "migrate", traced)
                Database.open(file, create=True).close()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _shape(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return the columns of each table and index, keyed by its name."""
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
    return {
        name: [*connection.execute(f"PRAGMA table_info({name})"), *connection.execute(f"PRAGMA index_xinfo({name})")]
        for name in names
    }


@pytest.mark.slow
@pytest.mark.parametrize("version", [0, 1, NOW // 2, NOW - 1])
def test_kill_in_the_middle_of_a_migration_leaves_old_or_new(version: int, tmp_path: Path) -> None:
    Database.open(tmp_path / "new.db", create=True).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        new = _shape(connection)
    found = []
    for before in itertools.count(1):
        file = tmp_path / f"{before}.db"
        if version:
            stored_database(version, file)
        else:
            file.touch()
        with contextlib.closing(sqlite3.connect(file)) as connection:
            old = _shape(connection)
        killed = _killed_in_migration(file, before)
        with contextlib.closing(sqlite3.connect(file)) as connection:
            found.append(schema.version_of(connection, file))
            assert _shape(connection) == (old if found[-1] == version else new)
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            if version:
                assert connection.execute("SELECT count(*) FROM record").fetchone()[0] == 1, (
                    "the earlier row still exists"
                )
        with Database.open(file, create=True) as database:
            assert database.schema_version() == NOW
        if not killed:
            break
    assert set(found) == {version, NOW} and found == sorted(found), (
        "the version is the old or the new one, and never goes back"
    )


def test_records_of_version_1_are_kept_and_their_changes_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.db"
    with monkeypatch.context() as patch:
        first = schema.load_migrations()[:1]
        patch.setattr(schema, "load_migrations", lambda: first)
        Database.open(file, create=True).close()
    numbers = [1, 2]
    known = [record(campaign_id=None, artifact_sha256=None, id=number) for number in numbers]
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        for one in known:
            insert(connection, RECORD, one)
        insert(connection, DECISION, decision(record_id=numbers[0]))
    with Database.open(file, create=True) as database:
        assert (database.migrated_from, database.schema_version()) == (1, NOW)
        assert list(database.records()) == known and database.problems() == []
        assert database.decision("d1").record_id == numbers[0]
        assert database.record_changes(0) is None, "a migration logs no changes of records"
        database.set_record_status(numbers[1], RecordStatus.RETIRED, at=1.0)
        changes = database.record_changes(0)
        assert changes and [one.id for one in changes.changed] == numbers[1:]


def test_trials_of_version_2_that_ended_keep_their_order_in_version_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.db"
    with monkeypatch.context() as patch:
        second = schema.load_migrations()[:2]
        patch.setattr(schema, "load_migrations", lambda: second)
        Database.open(file, create=True).close()
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO campaign VALUES (1, 'n', 'c', '1', 0, '{}', '{}', 'stopped', '{}')")
        for number, state in enumerate(("complete", "failed", "running")):
            value = 1.5 if state == "complete" else None
            row = (number + 7, number, state, value)
            connection.execute(
                "INSERT INTO trial VALUES (?, 1, 'p', ?, 'search', '{}', ?, ?, 's', '[]', NULL, NULL, NULL, '')", row
            )
    with Database.open(file, create=True) as database:
        assert database.problems() == []
        kept = [(trial.ordinal, trial.attempt, trial.limit_s, trial.nodes) for trial in database.trials(1)]
        assert kept == [(7, 1, None, 0), (8, 1, None, 0), (None, 1, None, 0)]
        assert database.campaign(1).heartbeat_at is None


WRITER = """
import sys
from pathlib import Path
from reprise.database import Database
from tests.unit.database_values import campaign, record
with Database.open(Path(sys.argv[1]), create=True) as database:
    while True:
        number = database.add_campaign(campaign())
        database.publish(record(), None, campaign_id=number, summary={"done": True})
        print(number, flush=True)
"""


def test_acknowledged_rows_survive_kill_9(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    acknowledged = 0
    for rows in (1, 17, 40):
        command = [sys.executable, "-c", WRITER, str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as writer:
            assert writer.stdout is not None
            for _ in range(rows):
                acknowledged = int(writer.stdout.readline())
            writer.kill()
            acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
        with Database.open(file) as database:
            assert database.problems() == []
            ids = {found.id for found in database.campaigns()}
            assert ids >= set(range(1, acknowledged + 1))
            complete = {found.id for found in database.campaigns() if found.state == "complete"}
            assert complete == {found.campaign_id for found in database.records()}  # campaign and record, or neither


def test_script_without_its_last_semicolon_is_refused() -> None:
    with pytest.raises(errors.SchemaError, match="middle of a statement"):
        list(schema.statements("CREATE TABLE a (b);\nCREATE TABLE c (d)"))
    assert list(schema.statements("-- only a comment\n")) == []
