# SPDX-License-Identifier: Apache-2.0
"""A connection to PostgreSQL that runs the statements written for SQLite, and its errors in one line.

psycopg is imported only when a connection is made, because that takes 0.1 s.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.resources
import itertools
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprise.database import dialect, schema
from reprise.database.errors import (
    AccessError,
    BusyError,
    DatabaseError,
    InvalidValueError,
    MissingError,
    SchemaError,
    StorageError,
    UnreachableError,
)

if TYPE_CHECKING:
    import psycopg

OLDEST = 15  # the oldest supported release of PostgreSQL
SCHEMA = "reprise"
LIMITS: Mapping[str, Any] = {
    "application_name": "reprise",
    "client_encoding": "UTF8",
    "connect_timeout": 5,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
"""Parameters of a connection that `database.url` can override: a server that does not answer is given up after 20 s."""
_SETTINGS = """
SET search_path = reprise; SET client_min_messages = error; SET lock_timeout = {milliseconds};
SET idle_in_transaction_session_timeout = '5min'; SET default_transaction_read_only = {read_only}
"""
# Writers take turns, as in SQLite: methods first read what is stored, and then write what follows from it.
_LOCK = f"SELECT pg_advisory_xact_lock({schema.APPLICATION_ID})"
_numbers = itertools.count()  # of cursors
_DEFECT = "refused a statement ({}); nothing was written: please report this defect of Reprise"
# Errors by the beginning of their SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html)
_ERRORS: Sequence[tuple[tuple[str, ...], type[DatabaseError], str]] = (
    (("22", "23", "54"), InvalidValueError, _DEFECT),  # a value of a wrong type, a constraint, too large a value
    (("40", "55P03"), BusyError, "is locked by another process ({}): try again, or look at pg_stat_activity"),
    (("53300",), BusyError, "has no free connection ({}): try again, or raise its max_connections"),
    (("53", "58"), StorageError, "cannot store more ({}); nothing was written: look at the server's log"),
    (("25006", "42501"), AccessError, "may not be used so ({}): connect to a primary, as the owner of the tables"),
    (("08", "57"), UnreachableError, "ended the connection ({}): try again, or look at the server's log"),
    (("42", "XX"), DatabaseError, "is damaged or incomplete ({}): look at the server's log, or restore a backup"),
)


class RowOfNames(tuple[Any, ...]):
    """A row whose cells are found by position or by the name of their column, like `sqlite3.Row`."""

    __slots__ = ()
    places: Mapping[str, int]

    def __getitem__(self, key: Any) -> Any:
        """Return a cell; `key` is a position, a slice or a name."""
        return super().__getitem__(self.places[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.places)


@functools.lru_cache(maxsize=256)
def _row_type(names: tuple[str, ...]) -> type[RowOfNames]:
    return type("Row", (RowOfNames,), {"__slots__": (), "places": {name: place for place, name in enumerate(names)}})


def _row_factory(cursor: Any) -> Any:
    return _row_type(tuple(column.name for column in cursor.description or ()))


class PostgreSQL:
    """A connection to a server; the methods are those of `connection.Connection`."""

    BEGIN_WRITE = f"BEGIN; {_LOCK}"
    BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    CHANGES = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    TRUNCATED = "trunc({})::bigint"
    NEWEST = "(array_agg({} ORDER BY d.at DESC))[1]"

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._psycopg = connection

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction is open, even if it has failed."""
        return self._psycopg.info.transaction_status in (2, 3)  # PQTRANS_INTRANS, PQTRANS_INERROR

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        """Execute a statement that is written for SQLite."""
        return self._psycopg.execute(dialect.statement(sql), parameters)

    def script(self, sql: str) -> None:
        """Execute statements of PostgreSQL."""
        self._psycopg.execute(sql)

    def added(self, sql: str, row: Mapping[str, Any]) -> int:
        """Insert a row, and return its id."""
        return int(self.execute(f"{sql} RETURNING id", row).fetchone()[0])

    def rows(self, sql: str, parameters: Any) -> Iterator[Any]:
        """Yield the rows of a query; the server keeps them until they are requested."""
        query = self._psycopg.cursor().mogrify(dialect.statement(sql), parameters)  # type: ignore[attr-defined]
        with self._psycopg.cursor(f"rows{next(_numbers)}", withhold=not self.in_transaction) as cursor:
            cursor.itersize = 2000
            yield from cursor.execute(query)

    def about(self, table: str) -> int:
        """Return the number of rows when PostgreSQL last counted them."""
        sql = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = %s::regclass"
        return int(self._psycopg.execute(sql, (table,)).fetchone()[0])  # type: ignore[index]

    def damage(self) -> list[str]:
        """Return nothing: PostgreSQL checks references itself, and pages with its own tools (pg_amcheck)."""
        return []

    def count_from(self, tables: Iterable[str]) -> None:
        """Let the ids of these tables' next rows follow the greatest ids that are stored."""
        for table in tables:
            sql = (
                "SELECT pg_get_serial_sequence(%s, 'id') FROM pg_attribute WHERE attrelid = %s::regclass"
                " AND attname = 'id' AND attidentity <> ''"
            )
            if row := self._psycopg.execute(sql, (table, table)).fetchone():
                self.script(f"SELECT setval('{row[0]}', max(id)) FROM {table} HAVING max(id) IS NOT NULL")  # noqa: S608

    def close(self) -> None:
        """Close the connection."""
        self._psycopg.close()

    def version(self, name: str) -> int:
        """Return the version of the schema, 0 if there is none. Raise AccessError if this role may not use it."""
        sql = (
            "SELECT has_schema_privilege(oid, 'USAGE'), EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid"
            " AND relname = 'migration') FROM pg_namespace AS n WHERE nspname = %s"
        )
        found = self._psycopg.execute(sql, (SCHEMA,)).fetchone()
        if found and not found[0]:
            raise AccessError(
                f"{name}: the role {self._psycopg.info.user} may not use the schema {SCHEMA}: connect as the schema's "
                f"owner, or make the role a member of the owner (GRANT)"
            )
        return self.execute("SELECT max(version) FROM migration").fetchone()[0] or 0 if found and found[1] else 0

    def migrate(self, name: str, migrations: Sequence[schema.Migration]) -> int:
        """Upgrade the database to the newest version, and return the version that it had before.

        A new database gets the tables that the migrations make in an empty database of SQLite. An older one gets the
        missing migrations, which must therefore be written for both, or have a second file `NAME.postgresql.sql`.
        """
        self.script(self.BEGIN_WRITE)
        try:
            found = self.version(name)
            schema.refuse_newer(found, name, migrations[-1].version)
            if found == 0:
                self._create(migrations)
            for migration in migrations[found:]:
                if found:
                    script = ";".join(map(dialect.definition, schema.statements(migration.sql)))
                    self.script(migration.postgresql or script)
                self.execute(schema.NOTED, migration.noted())
            self.script("COMMIT")
        except BaseException:
            if self.in_transaction:
                self.script("ROLLBACK")
            raise
        return found

    def _create(self, migrations: Sequence[schema.Migration]) -> None:
        script = importlib.resources.files("reprise.database.migrations") / "postgresql.sql"
        functions, _, triggers = script.read_text(encoding="utf-8").partition("-- TABLES\n")
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
            schema.migrate(model, Path("model"), migrations)
            sql = (
                "SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL"
                " AND name NOT LIKE 'sqlite%' ORDER BY rowid"
            )
            tables = [dialect.definition(row[0]) for row in model.execute(sql)]
        self.script(";\n".join((f"CREATE SCHEMA IF NOT EXISTS {SCHEMA};\n{functions}", *tables, triggers)))


def connect(
    url: str, *, create: bool, read_only: bool, busy_timeout_s: float, migrations: Sequence[schema.Migration]
) -> tuple[PostgreSQL, int]:
    """Return a connection to the database at `url`, and the version of the schema that was found.

    Raise DatabaseError, or an error of psycopg, if the database is unusable; with `create`, create or upgrade it.
    """
    try:
        import psycopg
        from psycopg.types.string import StrDumper
    except ImportError as error:  # psycopg, or libpq
        raise MissingError(
            f"{url}: psycopg cannot be loaded ({' '.join(str(error).split())}): install Reprise with the extra "
            "`postgresql`, and libpq (Debian: libpq5)"
        ) from error

    class Text(StrDumper):
        def dump(self, obj: str) -> Any:
            return super().dump(storable(obj))

    settings = _SETTINGS.format(milliseconds=int(1000 * busy_timeout_s), read_only="on" if read_only else "off")
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise AccessError(f"{url}: is refused by libpq ({' '.join(str(error).split())}): correct the URL") from error
    opened = psycopg.connect(
        psycopg.conninfo.make_conninfo("", **{**LIMITS, **given}),
        autocommit=True,
        cursor_factory=psycopg.ClientCursor,
        row_factory=_row_factory,
    )
    try:
        if opened.info.server_version < OLDEST * 10_000:
            raise SchemaError(
                f"{url}: the server is PostgreSQL {opened.info.server_version // 10_000}: Reprise needs {OLDEST} or "
                "newer: upgrade it"
            )
        if opened.info.parameter_status("server_encoding") != "UTF8":
            raise SchemaError(
                f"{url}: the database's encoding is {opened.info.parameter_status('server_encoding')}: create one with "
                "`createdb --encoding=UTF8 --template=template0`"
            )
        opened.adapters.register_dumper(str, Text)
        opened.execute(settings)
        one = PostgreSQL(opened)
        if create:
            found = one.migrate(url, migrations)
        else:
            found = one.version(url)
            schema.require_newest(found, url, migrations)
    except BaseException:
        opened.close()
        raise
    return one, found


def storable(text: str) -> str:
    """Return text as it is stored: PostgreSQL cannot store NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def translate(error: Exception, url: str) -> DatabaseError | None:
    """Return the DatabaseError that corresponds to an error of psycopg; None if it is not one."""
    psycopg = sys.modules.get("psycopg")
    if psycopg is None or not isinstance(error, psycopg.Error):
        return None
    # without the detail, which may have all cells of a row
    said, state = " ".join((error.diag.message_primary or str(error)).split()), error.sqlstate or ""
    for states, kind, text in _ERRORS:
        if state.startswith(states):
            return kind(f"{url}: {text.format(said)}")
    if isinstance(error, psycopg.OperationalError):
        return UnreachableError(f"{url}: cannot be reached ({said}): check the URL and the server with `psql URL`")
    return InvalidValueError(f"{url}: {_DEFECT.format(said)}")
