# SPDX-License-Identifier: Apache-2.0
"""An open database, a file or one on a server, with methods to create, migrate, read and write it safely."""

from __future__ import annotations

import contextlib
import os
import pwd
import sqlite3
import stat
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reprise.database import postgresql, schema
from reprise.database.connection import Connection, Parameters, Row, SQLite
from reprise.database.errors import (
    AccessError,
    CorruptedError,
    FileSystemError,
    InvalidValueError,
    MissingError,
    translate,
    translate_copying,
)
from reprise.database.filesystem import network_type
from reprise.database.masked_columns import masked_row
from reprise.database.row_codec import quoted

FILE_MODE = 0o600
"""Mode of the database file, which the files -wal and -shm inherit. A user who can open one of these three files can
block all writes."""
SHARED_MODE = 0o640
"""Mode of copies that the group may read. Nobody writes to a copy, which is only replaced as a whole, so a reader's
lock blocks nobody."""
DIRECTORY_MODE = 0o755  # by default, the directory also contains artifacts, which every job must be able to read
BUSY_TIMEOUT_S = 5.0  # a writer holds the lock for milliseconds; a longer wait means that a process is stuck


class Store:
    """A database with one connection to it: a file of SQLite, or a database of PostgreSQL.

    Only one thread at a time may use a `Store`; any number of processes may use the database.
    """

    def __init__(self, name: Path | str, connection: Connection, migrated_from: int, not_erased: str = "") -> None:
        self.name = name
        """The path of the file, or the URL."""
        self.migrated_from = migrated_from
        self.not_erased = not_erased
        self._connection = connection

    @classmethod
    def open(
        cls, path: Path | str, *, create: bool = False, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S
    ) -> Self:
        """Open the database at `path`, or on the server that the URL `path` names.

        Raise DatabaseError if the database is unusable.

        With `create`, create the directory and the file if they are missing, and migrate the database to the newest
        schema. The result's `migrated_from` is then the previous schema version (0: none), and its `not_erased` is the
        reason why unused parts of the file still contain text that migrations have replaced, or "".
        """
        if create and read_only:
            raise ValueError("a database cannot be created read-only")
        if isinstance(path, str):
            with _translated(path):
                opened, found = postgresql.connect(
                    path,
                    create=create,
                    read_only=read_only,
                    busy_timeout_s=busy_timeout_s,
                    migrations=schema.load_migrations(),
                )
            return cls(path, opened, found)
        path = path.absolute()
        _check_place(path)
        if create:
            _make_file(path)
        _check_file(path, read_only)
        if not read_only:
            _close_to_others(path)
        with _translated(path):
            connection = sqlite3.connect(
                f"{path.as_uri()}?{_access(path) if read_only else 'mode=rw'}",
                uri=True,
                timeout=busy_timeout_s,
                isolation_level=None,
                check_same_thread=False,
                factory=SQLite,
            )
            try:
                found, not_erased = _prepare(connection, path, create=create, read_only=read_only)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, found, not_erased)

    @classmethod
    def open_to_read(cls, path: Path, snapshot: Path | None) -> Self:
        """Open the database read-only, or its snapshot if this user may not read the database.

        Raise DatabaseError if neither is usable.
        """
        try:
            return cls.open(path, read_only=True)
        except AccessError:
            if snapshot is None or not os.access(snapshot, os.R_OK, effective_ids=True):
                raise
        return cls.open(snapshot, read_only=True)

    @property
    def path(self) -> Path:
        """Path of the file of SQLite."""
        return Path(self.name)

    def close(self) -> None:
        """Close the connection; the object is unusable afterwards."""
        with _translated(self.name):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def schema_version(self) -> int:
        """Return the version of the schema."""
        return int(self._read("SELECT max(version) FROM migration")[0][0])

    def problems(self) -> list[str]:
        """Return the problems of the database's structure, each in one line."""
        with _translated(self.name):
            return self._connection.damage()

    @contextlib.contextmanager
    def one_state(self) -> Iterator[None]:
        """Make all reads in this context see the same state of the database, whatever other processes write."""
        with _translated(self.name):
            self._connection.execute(self._connection.BEGIN_READ)
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    def raw_rows(self, table: str, order: str = "") -> Generator[Mapping[str, Any], None, None]:
        """Yield the rows of a table as they are stored; `order` has the names of the columns to sort by."""
        for row in self._rows(f"SELECT * FROM {table}{order and ' ORDER BY '}{order}"):  # noqa: S608 (fixed names)
            yield dict(row)

    def raw_count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(self._read(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 (the name of a table)

    def add_raw_row(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row to a table, with secrets masked; the caller must have checked the names of its columns."""
        row = masked_row(table, row)
        names, places = ", ".join(map(quoted, row)), ", ".join(f":{name}" for name in row)
        with self._write() as connection, _translated(self.name):
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", row)  # noqa: S608 (checked names)

    def count_from(self, tables: Iterable[str]) -> None:
        """Let the ids of these tables' next rows follow the ids of rows that `add_raw_row` has added."""
        with _translated(self.name):
            self._connection.count_from(tables)

    def copy_to(self, other: sqlite3.Connection, target: Path) -> None:
        """Copy the current state of this file to the database `other`, whose file is `target`."""
        assert isinstance(self._connection, SQLite)  # noqa: S101 - backups are made of files only
        try:
            self._connection.backup(other)
        except sqlite3.Error as error:
            raise translate_copying(error, self.path, target) from error

    def _read(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Execute a read-only statement, and return all resulting rows."""
        with _translated(self.name):
            return list(self._connection.execute(sql, parameters).fetchall())

    def _rows(self, sql: str, parameters: Parameters = ()) -> Iterator[Row]:
        """Execute a read-only statement, and yield its rows; each row is read when it is requested."""
        with _translated(self.name):
            yield from self._connection.rows(sql, parameters)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes in this context one transaction: all of them take effect, or none."""
        with self._write():
            yield

    @contextlib.contextmanager
    def _write(self) -> Iterator[Connection]:
        """Make all writes in this context one transaction, or part of the transaction that is already open."""
        if self._connection.in_transaction:
            with _translated(self.name):
                yield self._connection
            return
        with _translated(self.name):
            try:
                self._connection.execute(self._connection.BEGIN_WRITE)
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # after some errors, SQLite has already rolled back
                    self._connection.execute("ROLLBACK")
                raise


@contextlib.contextmanager
def _translated(path: Path | str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, Path(path)) from error
    except UnicodeDecodeError as error:
        raise CorruptedError(f"{path}: is damaged (text that is not UTF-8): restore it from a backup") from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InvalidValueError(f"{path}: refused a value ({error}): please report this defect of Reprise") from error
    except Exception as error:
        if of_server := postgresql.translate(error, str(path)):
            raise of_server from error
        raise


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return numbers that identify the file, by which its replacement is noticed; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def size_on_disk(path: Path) -> int:
    """Return the size of the database's file and its write-ahead log in bytes. Raise OSError if there is no file."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size + Path(f"{path}-wal").stat().st_size
    return path.stat().st_size


def _access(path: Path) -> str:
    """Return the parameters of the URI with which SQLite opens the file `path` read-only.

    Readers need a shared index next to the database file. A user who may not write to the directory cannot create the
    index, but may read the file without it (`immutable`) if there is no write-ahead log (-wal), because then no other
    process has the file open.
    """
    alone = not Path(f"{path}-wal").exists()
    return "mode=ro&immutable=1" if alone and not os.access(path.parent, os.W_OK, effective_ids=True) else "mode=ro"


def _check_place(path: Path) -> None:
    kind = network_type(path.parent)
    if kind:
        raise FileSystemError(
            f"{path}: is on a network file system ({kind}), where SQLite loses data: "
            "set database.path to a local file system of this host"
        )


def _make_file(path: Path) -> None:
    """Create an empty file, and its directory, unless they exist.

    If root creates the file, the file gets the directory's owner.
    """
    try:
        path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        except FileExistsError:
            return
        try:
            if os.geteuid() == 0:
                owner = path.parent.stat()
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise AccessError(
            f"{path}: cannot be created ({error.strerror}): run this as a user who may write to {path.parent}"
        ) from error


def parts_of(path: Path) -> list[Path]:
    """Return the paths of the database's file and of SQLite's files next to it, as far as they exist."""
    return [part for suffix in ("", "-wal", "-shm") if (part := Path(f"{path}{suffix}")).exists()]


def is_open_to_others(path: Path) -> bool:
    """Return whether users other than the owner may open this file. Raise OSError if the file cannot be examined."""
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _close_to_others(path: Path) -> None:
    """Revoke the access to the database that an older release granted to other users.

    Failures are ignored; `reprise doctor` reports files to which other users have access.
    """
    with contextlib.suppress(OSError):
        for part in parts_of(path):
            if is_open_to_others(part) and part.stat().st_uid == os.geteuid():
                part.chmod(FILE_MODE)


def owner_of(path: Path) -> str:
    """Return the name of the file's owner, or the owner's user id if there is no name.

    Raise OSError if the file cannot be examined.
    """
    uid = path.stat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _check_file(path: Path, read_only: bool) -> None:
    """Raise DatabaseError for problems that SQLite would report unclearly or late, such as missing write permission."""
    try:
        exists, is_file = path.exists(), path.is_file()
    except OSError as error:
        raise AccessError(
            f"{path}: cannot be examined ({error.strerror}): check the permissions of its directories"
        ) from error
    if not exists:
        raise MissingError(f"{path}: there is no database: run `reprise db init`")
    if not is_file:
        raise AccessError(f"{path}: is not a regular file: set database.path to the database's file")
    if not os.access(path, os.R_OK, effective_ids=True):
        raise AccessError(
            f"{path}: may not be read by this user: run this as its owner (`runuser -u {owner_of(path)} -- reprise`), "
            "use the web pages, or ask for a snapshot for your group (database.snapshot)"
        )
    if read_only:
        return
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise AccessError(
            f"{path}: is on a read-only file system and cannot be written: remount it, or set database.path to another"
        )
    if not (
        os.access(path, os.W_OK, effective_ids=True) and os.access(path.parent, os.W_OK | os.X_OK, effective_ids=True)
    ):
        raise AccessError(f"{path}: it or its directory may not be written by this user: run this as their owner")


def _prepare(connection: sqlite3.Connection, path: Path, *, create: bool, read_only: bool) -> tuple[int, str]:
    """Set up the connection; return the schema version that was found, and `not_erased` as for `Store.open`."""
    not_erased = ""
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    migrations = schema.load_migrations()
    if create:
        found = schema.migrate(connection, path, migrations)
        not_erased = schema.erase_replaced(connection)
    else:
        found = schema.version_of(connection, path)
        schema.require_newest(found, path, migrations)
    if not read_only:
        connection.execute("PRAGMA journal_mode = WAL")
    return found, not_erased
