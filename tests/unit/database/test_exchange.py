# SPDX-License-Identifier: Apache-2.0
"""Test exports of the database as lines of JSON, which are imported completely or not at all."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reprise.database import Database, exchange
from reprise.database.errors import AccessError, CorruptedError, DatabaseError, InvalidValueError
from reprise.database.upkeep import TABLES
from tests.unit.cli.test_db import run
from tests.unit.database.test_stored import ROWS
from tests.unit.database_values import ON_SQLITE, record

MESSAGE = '{"kind": "decision"}'
COUNT = len(TABLES) + 1  # number of rows: one in each table, and a message that waits for the primary


@pytest.fixture
def path(fresh: Path | str) -> Path | str:
    """Create a database with a row in each table, and a message that waits for the primary."""
    with Database.open(fresh, create=True) as database:
        fill(database)
    return fresh


def fill(database: Database) -> None:
    """Add a row to each table."""
    with database.transaction():
        for name in exchange.ORDER:
            if name != exchange.OUTBOX:
                value = ROWS[name]
                row = next(table for table in TABLES if table.name == name).encode(value)
                database.add_raw_row(name, row | ({"id": value.id} if hasattr(value, "id") else {}))
        database.count_from(exchange.ORDER)
        database.put_out(MESSAGE)


@pytest.fixture
def empty(other: Path | str) -> Path | str:
    Database.open(other, create=True).close()
    return other


def exported(path: Path | str) -> list[str]:
    with Database.open(path, read_only=True) as database:
        return list(exchange.lines(database))


def test_exported_rows_are_imported_unchanged(path: Path | str, empty: Path | str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    assert run(path, "export", str(file)).exit_code == 0
    assert run(empty, "import", str(file)).output == f"{empty}: {COUNT} rows\n"
    assert exported(path) == exported(empty) == file.read_text().splitlines()
    with Database.open(empty) as database:
        assert database.problems() == [] and database.record(1) == ROWS["record"]
        assert database.oldest_out(9) == [(1, MESSAGE)], "messages that wait for the primary are not lost"
        assert database.add_record(record()) == 2, "new rows get new ids"
    assert run(path, "export", "-").output == file.read_text()


@ON_SQLITE
def test_an_export_has_the_permissions_of_the_database(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("for everyone")
    (tmp_path / "link").symlink_to("a.jsonl")
    assert run(path, "export", str(tmp_path / "link")).exit_code == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "a.jsonl").read_text().splitlines() == exported(path)
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run(path, "export", "/dev/null").exit_code == 0 and Path("/dev/null").is_char_device()


@pytest.mark.parametrize("error", [CorruptedError("is damaged"), OSError(28, "No space left on device")])
def test_an_export_that_fails_leaves_the_old_file_and_no_other(
    path: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_: Database) -> Iterator[str]:
        yield "{}"
        raise error

    monkeypatch.setattr(exchange, "lines", fail)
    (tmp_path / "out").mkdir()
    file = tmp_path / "out" / "a.jsonl"
    failed = run(path, "export", str(file)).exception
    assert isinstance(failed, DatabaseError) and "\n" not in str(failed)
    assert list(file.parent.iterdir()) == []
    file.write_text("what was there")
    assert run(path, "export", str(file)).exit_code == 1
    assert list(file.parent.iterdir()) == [file] and file.read_text() == "what was there"


def test_an_import_into_a_database_with_rows_is_refused(path: Path | str, tmp_path: Path) -> None:
    before = exported(path)
    (tmp_path / "a.jsonl").write_text("\n".join(before))
    error = run(path, "import", str(tmp_path / "a.jsonl")).exception
    assert isinstance(error, InvalidValueError) and f"{path}: is not empty: import into a new one" in str(error)
    assert exported(path) == before


def test_a_replica_with_only_waiting_messages_is_not_empty(path: Path | str, empty: Path | str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(exported(path)))
    with Database.open(empty) as database:
        database.put_out(MESSAGE)
    assert f"{empty}: is not empty" in str(run(empty, "import", str(tmp_path / "a.jsonl")).exception)


@ON_SQLITE
def test_every_table_is_exported_except_generated_ones(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        there = {row[0] for row in connection.execute(sql)}
    assert there - set(exchange.ORDER) == {"migration", "record_change"}


def changed(line: str, **changes: object) -> str:
    return json.dumps(json.loads(line) | changes)


def without(line: str, *columns: str) -> str:
    found = json.loads(line)
    row = {name: cell for name, cell in found["row"].items() if columns and name not in columns}
    return json.dumps({**found, "row": row})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda lines: [*lines[:3], "{"], "line 4: is not JSON ("),
        (lambda lines: [*lines, "[]"], f"line {COUNT + 2}: is list, not an object"),
        (lambda lines: [lines[0], "[" * 200_000], "line 2: is nested too deeply"),
        (lambda lines: lines[1:], "line 1: is not a header of `reprise db export`"),
        (lambda lines: [changed(lines[0], schema=3), *lines[1:]], "line 1: the file was exported from schema 3,"),
        (lambda lines: [changed(lines[0], version=2), *lines[1:]], "line 1: is not a header of `reprise db export`"),
        (lambda lines: [changed(lines[0], rows=None), *lines[1:]], "line 1: is not a header of `reprise db export`"),
        (lambda lines: [changed(lines[0], rows={"a": 1}), *lines[1:]], "line 1: its tables are not those of"),
        (lambda lines: [lines[0], changed(lines[1], table="sqlite_master")], "line 2: is not a row of a known"),
        (lambda lines: [lines[0], changed(lines[1], table=["record"])], "line 2: is not a row of a known"),
        (lambda lines: [lines[0], changed(lines[1], row={"x); DROP": 1})], "has no column 'x); DROP'"),
        (lambda lines: [lines[0], without(lines[1])], "line 2: column '"),
        (lambda lines: [lines[0], without(lines[1], "id"), *lines[2:]], "line 2: column 'id' of "),
        (lambda lines: [lines[0], lines[1], lines[1]], "line 3: "),
        (lambda lines: [lines[0], *lines[:0:-1]], "line 2: "),
        (lambda lines: lines[:0], "is empty: name a file that `reprise db export` wrote"),
        (lambda lines: [*lines[:3], "caf\udce9"], "line 4: is not UTF-8 (byte 4 of the line)"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_nothing_is_imported(
    path: Path | str, empty: Path | str, spoil: Callable[[list[str]], list[str]], said: str
) -> None:
    spoilt = [line.encode(errors="surrogateescape") for line in spoil(exported(path))]
    with Database.open(empty) as database:
        with pytest.raises(InvalidValueError) as caught:
            exchange.take(database, spoilt, "a.jsonl")
        assert str(caught.value).startswith(f"a.jsonl: {said}" if said[0] == "l" else "a.jsonl: ")
        assert said in str(caught.value) and "\n" not in str(caught.value)
        assert not any(database.counts().values()) and database.oldest_out(1) == []


def test_a_truncated_export_is_refused_and_nothing_is_imported(
    path: Path | str, empty: Path | str, tmp_path: Path
) -> None:
    whole = exported(path)
    for kept in range(1, len(whole)):
        (tmp_path / "a.jsonl").write_text("".join(f"{line}\n" for line in whole[:kept]))
        error = run(empty, "import", str(tmp_path / "a.jsonl")).exception
        assert isinstance(error, InvalidValueError)
        assert "a.jsonl: has only 0 of 1 rows of table " in str(error) and "export again" in str(error)
    with Database.open(empty) as database:
        assert not any(database.counts().values())


def test_a_file_that_cannot_be_written_is_named(path: Path | str) -> None:
    error = run(path, "export", "/dev/full").exception
    assert (
        isinstance(error, AccessError)
        and str(error) == "/dev/full: cannot be written (No space left on device): name another file"
    )


def test_a_file_that_cannot_be_read_is_named(empty: Path | str) -> None:
    error = run(empty, "import", "/proc/self/mem").exception
    assert isinstance(error, AccessError) and str(error).startswith("/proc/self/mem: cannot be read (")
