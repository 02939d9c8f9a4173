# SPDX-License-Identifier: Apache-2.0
"""The database as lines of JSON: what is exported is imported whole, or not at all."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from database import Database, exchange
from database.errors import CorruptedError, DatabaseError, InvalidValueError
from database.facade import TABLES
from tests.unit.test_database_cli import run
from tests.unit.test_database_stored import ROWS, insert


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a row in each table."""
    file = tmp_path / "a.db"
    with Database.open(file, create=True) as database, database._write() as connection:
        for table in TABLES:
            insert(connection, table, ROWS[table.name])
    return file


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    Database.open(tmp_path / "b.db", create=True).close()
    return tmp_path / "b.db"


def exported(path: Path) -> list[str]:
    with Database.open(path, read_only=True) as database:
        return list(exchange.lines(database))


def test_what_is_exported_is_imported_as_it_was(path: Path, empty: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    assert run(path, "export", str(file)).exit_code == 0
    assert run(empty, "import", str(file)).output == f"{empty}: {len(TABLES)} rows\n"
    assert exported(path) == exported(empty) == file.read_text().splitlines()
    with Database.open(empty) as database:
        assert database.problems() == [] and database.record(1) == ROWS["record"]
    assert run(path, "export", "-").output == file.read_text()


def test_what_is_exported_is_for_whom_the_database_is(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("for everyone")
    (tmp_path / "link").symlink_to("a.jsonl")
    assert run(path, "export", str(tmp_path / "link")).exit_code == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "a.jsonl").read_text().splitlines() == exported(path)
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == stat.S_IMODE(path.stat().st_mode) == 0o640
    assert run(path, "export", "/dev/null").exit_code == 0 and Path("/dev/null").is_char_device()


@pytest.mark.parametrize("error", [CorruptedError("is damaged"), OSError(28, "No space left on device")])
def test_an_export_that_fails_leaves_what_was_there_and_nothing_else(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
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


def test_a_database_with_rows_is_left_alone(path: Path, tmp_path: Path) -> None:
    before = exported(path)
    (tmp_path / "a.jsonl").write_text("\n".join(before))
    error = run(path, "import", str(tmp_path / "a.jsonl")).exception
    assert isinstance(error, InvalidValueError) and "a.db: is not empty: import into a new one" in str(error)
    assert exported(path) == before


def changed(line: str, **changes: object) -> str:
    return json.dumps(json.loads(line) | changes)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda lines: [*lines[:3], "{"], "line 4: is not JSON ("),
        (lambda lines: [*lines, "[]"], f"line {len(TABLES) + 2}: is list, not an object"),
        (lambda lines: lines[1:], "line 1: is no header of `reprise db export`"),
        (lambda lines: [changed(lines[0], schema=3), *lines[1:]], "line 1: was exported from schema 3, and this"),
        (lambda lines: [lines[0], changed(lines[1], table="sqlite_master")], "line 2: is no row of a table that"),
        (lambda lines: [lines[0], changed(lines[1], row={"x); DROP": 1})], "has no column 'x); DROP'"),
        (lambda lines: [lines[0], lines[1], lines[1]], "line 3: "),
        (lambda lines: [lines[0], *lines[:0:-1]], "line 2: "),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_nothing_is_imported(
    path: Path, empty: Path, spoil: Callable[[list[str]], list[str]], said: str
) -> None:
    with Database.open(empty) as database:
        with pytest.raises(InvalidValueError) as caught:
            exchange.take(database, spoil(exported(path)))
        assert said in str(caught.value) and "\n" not in str(caught.value)
        assert not any(database.counts().values())
