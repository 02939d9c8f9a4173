# SPDX-License-Identifier: Apache-2.0
"""The database as lines of JSON, for other programs and other machines: a header, then a row a line.

    {"format": "reprise-database", "version": 1, "schema": 8, "rows": {"campaign": 3, ...}}
    {"table": "record", "row": {"id": 1, ...}}

Cells are as the schema has them: JSON in a column is text. Tables come in an order in which references are there. The
header says how many rows of each follow, so that a file that was cut off is no smaller database.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.database.backup import in_place_of
from reprise.database.errors import AccessError, DatabaseError, InvalidValueError
from reprise.database.facade import Database
from reprise.database.upkeep import TABLES

FORMAT = "reprise-database"
VERSION = 1  # raised when a reader of the old one would be misled
OUTBOX = "outbox"  # of a replica: what its primary has not been told yet
COLUMNS = {table.name: frozenset(table.columns()) for table in TABLES} | {OUTBOX: frozenset(("id", "message"))}
LAST = ("trial", "record", "user_quarantine", "profile", "decision")  # they refer to others, each to some before it
ORDER = sorted(COLUMNS, key=lambda name: LAST.index(name) if name in LAST else -1)


def lines(database: Database) -> Iterator[str]:
    """The database line by line, without line ends, as it is when the first is taken."""
    with database.one_state():
        header = {"format": FORMAT, "version": VERSION, "schema": database.schema_version()}
        yield json.dumps({**header, "rows": _counts(database)})
        for name in ORDER:
            for row in database.raw_rows(name):
                yield json.dumps({"table": name, "row": row})


def write(database: Database, file: Path) -> None:
    """Write these lines to a file with the database's mode, whole or not at all. Raises a DatabaseError."""
    target = file.resolve()  # what a link leads to is replaced, and not the link
    try:
        with in_place_of(target) as temporary, temporary.open("w", encoding="utf-8") as out:
            out.writelines(f"{line}\n" for line in lines(database))
            out.flush()
    except OSError as error:
        raise AccessError(f"{file}: cannot be written ({error.strerror}): what was there is as it was") from error


def take(database: Database, text: Iterable[bytes], name: str) -> int:
    """Have the rows of these lines (UTF-8) of a file of this name, all or none; returns how many. The database must be
    empty.

    Raises InvalidValueError that names the first line that is wrong, or what is missing.
    """
    if any(_counts(database).values()):
        raise InvalidValueError(f"{database.path}: is not empty: import into a new one (`reprise db init`)")
    try:
        with database.transaction():
            return _taken(database, text)
    except InvalidValueError as error:
        raise InvalidValueError(f"{name}: {error}") from error


def _taken(database: Database, text: Iterable[bytes]) -> int:
    promised: Mapping[str, int] | None = None
    counts: Counter[str] = Counter()
    for number, line in enumerate(text, 1):
        found = _object(line, number)
        if promised is None:
            promised = _promised(found, database.schema_version())
            continue
        table, row = found.get("table"), found.get("row")
        if not isinstance(table, str) or table not in COLUMNS or not isinstance(row, dict):
            raise InvalidValueError(f"line {number}: is no row of a table that is known here")
        _check_columns(table, row, number)
        try:
            database.add_raw_row(table, row)
        except DatabaseError as error:
            raise InvalidValueError(f"line {number}: {error}") from error
        counts[table] += 1
    if promised is None:
        raise InvalidValueError("is empty: give what `reprise db export` wrote")
    for table in ORDER:
        if counts[table] != promised[table]:
            raise InvalidValueError(
                f"has {counts[table]} of {promised[table]} rows of table {table}: it was cut off: export again"
            )
    return counts.total()


def _counts(database: Database) -> dict[str, int]:
    return {name: database.raw_count(name) for name in ORDER}


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidValueError(f"line {number}: is not UTF-8 (byte {error.start + 1} of it)") from error
    except RecursionError as error:
        raise InvalidValueError(f"line {number}: is nested too deeply") from error
    except ValueError as error:
        raise InvalidValueError(f"line {number}: is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise InvalidValueError(f"line {number}: is {type(found).__name__}, not an object")
    return found


def _promised(found: dict[str, Any], schema: int) -> Mapping[str, int]:
    """The rows that a header says will follow."""
    rows = found.get("rows")
    if found.get("format") != FORMAT or found.get("version") != VERSION or not isinstance(rows, dict):
        raise InvalidValueError("line 1: is no header of `reprise db export` that this release reads")
    if found.get("schema") != schema:
        raise InvalidValueError(
            f"line 1: was exported from schema {found.get('schema')}, and this one is {schema}: use the same release"
        )
    if rows.keys() != COLUMNS.keys():
        raise InvalidValueError(
            f"line 1: counts the rows of other tables than there are ({min(rows.keys() ^ COLUMNS.keys())})"
        )
    return rows


def _check_columns(name: str, row: dict[str, Any], number: int) -> None:
    if row.keys() - COLUMNS[name]:
        raise InvalidValueError(f"line {number}: {name} has no column {min(row.keys() - COLUMNS[name])!r}")
    if COLUMNS[name] - row.keys():
        raise InvalidValueError(f"line {number}: column {min(COLUMNS[name] - row.keys())!r} of {name} is missing")
