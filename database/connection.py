# SPDX-License-Identifier: Apache-2.0
"""A connection to SQLite; `postgresql.PostgreSQL` has the same methods, for statements that are written for SQLite."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from reprise.database.postgresql import PostgreSQL

Parameters = Sequence[Any] | Mapping[str, Any]
Connection: TypeAlias = "SQLite | PostgreSQL"
Row: TypeAlias = Any
"""A row whose cells are found by position or by the name of their column: `sqlite3.Row`, or `postgresql.RowOfNames`."""
ALL_ROWS = 2**62
"""The LIMIT of a statement that is to find all rows."""


class SQLite(sqlite3.Connection):
    """A connection to a file, in autocommit mode.

    `BEGIN_WRITE` begins a transaction that only one connection can have at a time, `BEGIN_READ` one that sees a single
    state of the database. `CHANGES` asks for a number that changes when another connection has changed the database.
    `TRUNCATED` is the integer part of a number, `NEWEST` a column's value in the row with the `max(d.at)` of a group.
    """

    BEGIN_WRITE = "BEGIN IMMEDIATE"
    BEGIN_READ = "BEGIN"
    CHANGES = "PRAGMA data_version"
    TRUNCATED = "CAST({} AS INTEGER)"
    NEWEST = "{}"  # https://sqlite.org/lang_select.html#bareagg

    def added(self, sql: str, row: Mapping[str, Any]) -> int:
        """Insert a row, and return the id that the database gave to it."""
        return int(self.execute(sql, row).lastrowid or 0)

    def rows(self, sql: str, parameters: Parameters) -> Iterator[Row]:
        """Yield the rows of a query; each is read from the file when it is requested."""
        with contextlib.closing(self.cursor()) as cursor:
            yield from cursor.execute(sql, parameters)

    def about(self, table: str) -> int:
        """Estimate the number of rows of a table as the highest rowid minus the lowest, plus 1.

        An exact count would have to read a whole index. Deleted rows whose rowids lie between these two are counted
        too. Because the oldest rows are deleted first, such gaps arise only where a late report was added after newer
        rows.
        """
        span = f"SELECT coalesce((SELECT max(rowid) FROM {table}) - (SELECT min(rowid) FROM {table}) + 1, 0)"  # noqa: S608
        return int(self.execute(span).fetchone()[0])

    def damage(self) -> list[str]:
        """Return the problems of the file's structure and of references between rows, one line each."""
        found = [row[0] for row in self.execute("PRAGMA integrity_check") if row[0] != "ok"]
        return [" ".join(line.split()) for line in found] + [
            f"row {row[1]} of table {row[0]} refers to a missing row of table {row[2]}"
            for row in self.execute("PRAGMA foreign_key_check")
        ]

    def count_from(self, tables: Iterable[str]) -> None:
        """Let the ids of these tables' next rows follow those of rows that have been inserted with an id."""
