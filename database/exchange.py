# SPDX-License-Identifier: Apache-2.0
"""The database as lines of JSON, for other programs and other machines: a header, then a row a line.

    {"format": "reprise-database", "version": 1, "schema": 8}
    {"table": "record", "row": {"id": 1, ...}}

Cells are as the schema has them: JSON in a column is text. Tables come in an order in which references are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from database.backup import in_place_of
from database.errors import AccessError, DatabaseError, InvalidValueError
from database.facade import TABLES, Database

FORMAT = "reprise-database"
VERSION = 1  # raised when a reader of the old one would be misled
LAST = ("trial", "record", "decision")  # they refer to others, each to some before it
NAMES = [table.name for table in TABLES]
ORDER = sorted(NAMES, key=lambda name: LAST.index(name) if name in LAST else -1)


def lines(database: Database) -> Iterator[str]:
    """The database line by line, without line ends, as it is when the first is taken."""
    with database.one_state():
        yield json.dumps({"format": FORMAT, "version": VERSION, "schema": database.schema_version()})
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


def take(database: Database, text: Iterable[str]) -> int:
    """Have the rows of these lines, all or none; returns how many. The database must be empty.

    Raises InvalidValueError that names the first line that is wrong.
    """
    if any(database.counts().values()):
        raise InvalidValueError(f"{database.path}: is not empty: import into a new one (`reprise db init`)")
    columns = {table.name: set(table.columns()) for table in TABLES}
    count = 0
    with database.transaction():
        for number, line in enumerate(text, 1):
            found = _object(line, number)
            if number == 1:
                _check_header(found, database.schema_version())
                continue
            name, row = found.get("table"), found.get("row")
            if name not in columns or not isinstance(row, dict):
                raise InvalidValueError(f"line {number}: is no row of a table that is known here")
            if row.keys() - columns[name]:
                raise InvalidValueError(f"line {number}: {name} has no column {min(row.keys() - columns[name])!r}")
            try:
                database.add_raw_row(name, row)
            except DatabaseError as error:
                raise InvalidValueError(f"line {number}: {error}") from error
            count += 1
    return count


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidValueError(f"line {number}: is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise InvalidValueError(f"line {number}: is {type(found).__name__}, not an object")
    return found


def _check_header(found: dict[str, Any], schema: int) -> None:
    if found.get("format") != FORMAT or found.get("version") != VERSION:
        raise InvalidValueError("line 1: is no header of `reprise db export` that this release reads")
    if found.get("schema") != schema:
        raise InvalidValueError(
            f"line 1: was exported from schema {found.get('schema')}, and this one is {schema}: use the same release"
        )
