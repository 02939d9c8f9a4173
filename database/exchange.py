# SPDX-License-Identifier: Apache-2.0
"""Export and import of the database as lines of JSON: a header, then one line for each row.

    {"format": "reprise-database", "version": 1, "schema": 8, "rows": {"campaign": 3, ...}}
    {"table": "record", "row": {"id": 1, ...}}

Cells have the types of the schema, so the JSON in a column is a text. Tables are ordered so that a row only refers to
earlier rows. The header has the number of rows of each table, so that a truncated file is not mistaken for a smaller
database.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any

from reprise.database.backup import in_place_of
from reprise.database.errors import AccessError, CorruptedError, DatabaseError, InvalidValueError
from reprise.database.facade import Database
from reprise.database.masked_columns import masked_row
from reprise.database.upkeep import TABLES

FORMAT = "reprise-database"
VERSION = 1  # version of the format, increased by changes that a program for the old format would misread
OUTBOX = "outbox"  # the table of messages that a replica has not sent to its primary yet
COLUMNS = {table.name: frozenset(table.columns()) for table in TABLES} | {OUTBOX: frozenset(("id", "message"))}
# Tables whose rows refer to other tables, in the order in which they are imported, after all other tables.
LAST = ("trial", "record", "user_quarantine", "profile", "decision", "job_pattern")
KEYS = dict.fromkeys(COLUMNS, "id") | {
    "artifact": "sha256",
    "user_quarantine": "record_id, uid",
    "profile": "record_id",
    "job_pattern": "outcome_id, pattern",
}
NUL, NUL_STORED = r"\u0000", r"\ufffd"  # in a line of JSON: PostgreSQL stores U+FFFD for NUL
ORDER = sorted(COLUMNS, key=lambda name: LAST.index(name) if name in LAST else -1)


def lines(database: Database) -> Iterator[str]:
    """Yield the lines of the database's export, without line ends.

    The export shows the state of the database when the first line is read.
    """
    with database.one_state():
        yield from _lines(database)


def _lines(database: Database, *, compare: bool = False) -> Generator[str, None, None]:
    """Yield the lines; with `compare`, sorted by their keys, and as they are when they are imported."""
    header = {"format": FORMAT, "version": VERSION, "schema": database.schema_version()}
    yield json.dumps({**header, "rows": _counts(database)})
    for name in ORDER:
        with closing(database.raw_rows(name, KEYS[name] if compare else "")) as rows:
            for row in rows:
                yield json.dumps({"table": name, "row": masked_row(name, row) if compare else row})


def move(source: Database, target: Database) -> int:
    """Copy all rows of `source` to the empty database `target`, compare each with its copy, and return their number.

    Rows that are added to `source` meanwhile are not copied. Raise DatabaseError on failure; `target` is then empty.
    """
    with source.one_state(), target.transaction():
        with closing(_lines(source)) as rows:
            count = take(target, map(str.encode, rows), str(source.name))
        with closing(_lines(source, compare=True)) as rows, closing(_lines(target, compare=True)) as copies:
            for row, copy in zip_longest(rows, copies, fillvalue=""):
                if row != copy and row.replace(NUL, NUL_STORED) != copy.replace(NUL, NUL_STORED):
                    raise CorruptedError(f"{target.name}: nothing was moved, since {_named(row or copy)} changed")
    return count


def _named(line: str) -> str:
    """Return the table and the first cell, which is the key, of a row in an export."""
    found = json.loads(line)
    return (
        f"the row {next(iter(found['row'].values()))!r} of {found['table']}" if "row" in found else "the number of rows"
    )


def write(database: Database, file: Path) -> None:
    """Write the database's export to `file`, with the permissions of a database file.

    Raise DatabaseError on failure; an existing file is then unchanged.
    """
    target = file.resolve()  # replace the target of a symbolic link, not the link
    try:
        with in_place_of(target) as temporary, temporary.open("w", encoding="utf-8") as out:
            out.writelines(f"{line}\n" for line in lines(database))
            out.flush()
    except OSError as error:
        raise AccessError(f"{file}: cannot be written ({error.strerror}): the old file is unchanged") from error


def take(database: Database, text: Iterable[bytes], name: str) -> int:
    """Import all rows in `text`, the lines (UTF-8) of the file `name`, and return their number.

    On failure, no row is imported.

    The database must be empty. Raise InvalidValueError if a line is wrong or if rows are missing; the message names the
    first wrong line, or the table with missing rows.
    """
    if any(_counts(database).values()):
        raise InvalidValueError(f"{database.name}: is not empty: import into a new one (`reprise db init`)")
    try:
        with database.transaction():
            count = _taken(database, text)
            database.count_from(ORDER)
            return count
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
            raise InvalidValueError(f"line {number}: is not a row of a known table")
        _check_columns(table, row, number)
        try:
            database.add_raw_row(table, row)
        except DatabaseError as error:
            raise InvalidValueError(f"line {number}: {error}") from error
        counts[table] += 1
    if promised is None:
        raise InvalidValueError("is empty: name a file that `reprise db export` wrote")
    for table in ORDER:
        if counts[table] != promised[table]:
            raise InvalidValueError(
                f"has only {counts[table]} of {promised[table]} rows of table {table}: it is truncated: export again"
            )
    return counts.total()


def _counts(database: Database) -> dict[str, int]:
    return {name: database.raw_count(name) for name in ORDER}


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidValueError(f"line {number}: is not UTF-8 (byte {error.start + 1} of the line)") from error
    except RecursionError as error:
        raise InvalidValueError(f"line {number}: is nested too deeply") from error
    except ValueError as error:
        raise InvalidValueError(f"line {number}: is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise InvalidValueError(f"line {number}: is {type(found).__name__}, not an object")
    return found


def _promised(found: dict[str, Any], schema: int) -> Mapping[str, int]:
    """Return the number of rows of each table, as stated in a header. Raise InvalidValueError for an invalid header."""
    rows = found.get("rows")
    if found.get("format") != FORMAT or found.get("version") != VERSION or not isinstance(rows, dict):
        raise InvalidValueError("line 1: is not a header of `reprise db export` that this release can read")
    if found.get("schema") != schema:
        raise InvalidValueError(
            f"line 1: the file was exported from schema {found.get('schema')}, but this database has schema {schema}: "
            "export and import with the same release of Reprise"
        )
    if rows.keys() != COLUMNS.keys():
        raise InvalidValueError(
            f"line 1: its tables are not those of this schema ({min(rows.keys() ^ COLUMNS.keys())})"
        )
    return rows


def _check_columns(name: str, row: dict[str, Any], number: int) -> None:
    if row.keys() - COLUMNS[name]:
        raise InvalidValueError(f"line {number}: {name} has no column {min(row.keys() - COLUMNS[name])!r}")
    if COLUMNS[name] - row.keys():
        raise InvalidValueError(f"line {number}: column {min(COLUMNS[name] - row.keys())!r} of {name} is missing")
