# SPDX-License-Identifier: Apache-2.0
"""An open database file: how it is opened, created and migrated, and how it is read and written safely."""

from __future__ import annotations

import contextlib
import os
import pwd
import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reprise.database import schema
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

FILE_MODE = 0o600
"""Of the database, whose -wal and -shm inherit it: who can open one of the three can lock it, and stop every write."""
SHARED_MODE = 0o640
"""Of copies that the group reads; a copy is replaced whole, so that a lock on one is nobody else's concern."""
DIRECTORY_MODE = 0o755  # artifacts live beside the database by default, and every job must reach them
BUSY_TIMEOUT_S = 5.0  # writers hold the lock for milliseconds; whoever waits longer meets a stopped process

Parameters = Sequence[Any] | Mapping[str, Any]


class Store:
    """A database file and one connection to it; for one thread at a time, beside any number of other processes."""

    def __init__(self, path: Path, connection: sqlite3.Connection, migrated_from: int, not_erased: str = "") -> None:
        self.path = path
        self.migrated_from = migrated_from
        self.not_erased = not_erased
        self._connection = connection

    @classmethod
    def open(
        cls, path: Path, *, create: bool = False, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S
    ) -> Self:
        """Open the database at `path`.

        With `create`, make what is missing: the directory, the file, and newer versions of the schema (`migrated_from`
        tells which version was found; 0: none; `not_erased`, why text that was replaced is still in unused parts of the
        file). Raises a DatabaseError where it cannot be used.
        """
        if create and read_only:
            raise ValueError("a database cannot be created read-only")
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
            )
            try:
                found, not_erased = _prepare(connection, path, create=create, read_only=read_only)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, found, not_erased)

    @classmethod
    def open_to_read(cls, path: Path, snapshot: Path | None) -> Self:
        """Open the database at `path`, or its snapshot where this user may not read the database itself.

        Raises a DatabaseError where neither can be used.
        """
        try:
            return cls.open(path, read_only=True)
        except AccessError:
            if snapshot is None or not os.access(snapshot, os.R_OK, effective_ids=True):
                raise
        return cls.open(snapshot, read_only=True)

    def close(self) -> None:
        """Close the connection; the object is of no use afterwards."""
        with _translated(self.path):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def schema_version(self) -> int:
        """The version of the file's schema."""
        with _translated(self.path):
            return schema.version_of(self._connection, self.path)

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the file's structure and with references between rows, one line each."""
        with _translated(self.path):
            damage = [row[0] for row in self._connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            broken = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        return [" ".join(line.split()) for line in damage] + [
            f"row {row[1]} of table {row[0]} refers to a row of table {row[2]} that is not there" for row in broken
        ]

    @contextlib.contextmanager
    def one_state(self) -> Iterator[None]:
        """What is read within is one state of the database, whatever others write meanwhile."""
        with _translated(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    def raw_rows(self, table: str) -> Iterator[Mapping[str, Any]]:
        """The rows of a table of ours, as they are."""
        return map(dict, self._rows(f"SELECT * FROM {table}"))  # noqa: S608 (a table's name)

    def raw_count(self, table: str) -> int:
        """How many these are."""
        return int(self._read(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 (the same)

    def add_raw_row(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row, whose columns are known ones, to a table of ours; without the secrets that it may have."""
        row = masked_row(table, row)
        names, places = ", ".join(row), ", ".join(f":{name}" for name in row)
        with self._write() as connection, _translated(self.path):
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", row)  # noqa: S608 (names of ours)

    def copy_to(self, other: sqlite3.Connection, target: Path) -> None:
        """Make another database, which is called `target`, a copy of this one as it is now."""
        try:
            self._connection.backup(other)
        except sqlite3.Error as error:
            raise translate_copying(error, self.path, target) from error

    def _read(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """The rows of one statement that changes nothing."""
        with _translated(self.path):
            return self._connection.execute(sql, parameters).fetchall()

    def _rows(self, sql: str, parameters: Parameters = ()) -> Iterator[sqlite3.Row]:
        """The same, a few at a time; the file is read while they are taken."""
        with _translated(self.path), contextlib.closing(self._connection.cursor()) as cursor:
            yield from cursor.execute(sql, parameters)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """What is written within happens in one transaction: all of it, or nothing."""
        with self._write():
            yield

    @contextlib.contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it happens, or nothing. Within another, it is a part of that."""
        if self._connection.in_transaction:
            with _translated(self.path):
                yield self._connection
            return
        with _translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite has rolled back already after some errors
                    self._connection.execute("ROLLBACK")
                raise


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except UnicodeDecodeError as error:
        raise CorruptedError(f"{path}: is damaged (text that is not UTF-8): restore it from a backup") from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InvalidValueError(f"{path}: refused a value ({error}): this is a defect of the caller") from error


def size_on_disk(path: Path) -> int:
    """Bytes of the file and of its log of changes. Raises OSError where there is no file."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size + Path(f"{path}-wal").stat().st_size
    return path.stat().st_size


def _access(path: Path) -> str:
    """URI parameters to read by, and only read.

    Reading takes a shared index beside the file. Who may not write to the directory cannot make one, but may read the
    file as it is where there is no log of changes (-wal), since then nobody else has it open.
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
    """Make an empty file, and its directory, unless they exist. Root leaves the file to the directory's owner."""
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
    """The database's file, and those that SQLite has beside it, as far as they are there."""
    return [part for suffix in ("", "-wal", "-shm") if (part := Path(f"{path}{suffix}")).exists()]


def is_open_to_others(path: Path) -> bool:
    """Whether anybody but its owner may open this file. Raises OSError where this process cannot look."""
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _close_to_others(path: Path) -> None:
    """Take from the group what an older release gave it. `reprise doctor` says where that cannot be done."""
    with contextlib.suppress(OSError):
        for part in parts_of(path):
            if is_open_to_others(part) and part.stat().st_uid == os.geteuid():
                part.chmod(FILE_MODE)


def owner_of(path: Path) -> str:
    """The name of whose file this is, or the number of one without a name. Raises OSError where nobody can look."""
    uid = path.stat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _check_file(path: Path, read_only: bool) -> None:
    """What SQLite would report badly or, as with a file that may not be written, only later."""
    try:
        exists, is_file = path.exists(), path.is_file()
    except OSError as error:
        raise AccessError(
            f"{path}: cannot be looked at ({error.strerror}): check the directories' permissions"
        ) from error
    if not exists:
        raise MissingError(f"{path}: there is no database: run `reprise db init`")
    if not is_file:
        raise AccessError(f"{path}: is not a regular file: set database.path to the database's file")
    if not os.access(path, os.R_OK, effective_ids=True):
        raise AccessError(
            f"{path}: may not be read by this user: run this as its owner (`runuser -u {owner_of(path)} -- reprise`), "
            "look at the pages, or have a snapshot made for your group (database.snapshot)"
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
    """Set the connection up. Returns the version of the schema that was found, and `not_erased`."""
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
