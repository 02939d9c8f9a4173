# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the database; each message is one line that names the affected object, the cause and the remedy."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from reprise.errors import RepriseError


class DatabaseError(RepriseError):
    """Base class of the database's errors: a request to the database failed."""


class MissingError(DatabaseError):
    """There is no database at the path, or the database is empty."""


class NotADatabaseError(DatabaseError):
    """The file exists but is not a database of Reprise."""


class CorruptedError(DatabaseError):
    """The file is a damaged database."""


class SchemaError(DatabaseError):
    """The database was made by an older or a newer release of Reprise."""


class AccessError(DatabaseError):
    """The file or its directory cannot be read or written."""


class FileSystemError(DatabaseError):
    """The database is on a file system on which SQLite may lose data, such as a network file system."""


class BusyError(DatabaseError):
    """Another process locks or uses the database."""


class UnreachableError(DatabaseError):
    """The server of the database cannot be reached, or ended the connection."""


class StorageError(DatabaseError):
    """The file system is full or has failed."""


class InvalidValueError(DatabaseError):
    """A value breaks a rule of the schema; nothing was written."""


class NotFoundError(DatabaseError):
    """No row has the given id."""


def translate(error: sqlite3.Error, path: Path) -> DatabaseError:
    """Return the DatabaseError that corresponds to an error of SQLite on the database at `path`."""
    said = " ".join(str(error).split())
    match _code(error):
        case sqlite3.SQLITE_NOTADB:
            return NotADatabaseError(f"{path}: is not an SQLite database: check the path, or restore it from a backup")
        case sqlite3.SQLITE_CORRUPT:
            return CorruptedError(
                f"{path}: is damaged ({said}): restore it from a backup, or move it away and run `reprise db init`"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return BusyError(f"{path}: is locked by another process: try again, or find it with `fuser {path}`")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_AUTH:
            return AccessError(f"{path}: cannot be used ({said}): run this as the owner of the file and its directory")
        case sqlite3.SQLITE_FULL:
            return _full(path)
        # if the file system has no room for the shared index (-shm), SQLite reports an I/O error instead of a full disk
        case sqlite3.SQLITE_IOERR if _has_no_room(path.parent):
            return _full(path)
        case sqlite3.SQLITE_IOERR:
            return StorageError(f"{path}: reading or writing failed ({said}): check the disk and the kernel's log")
        case sqlite3.SQLITE_CONSTRAINT:
            return InvalidValueError(
                f"{path}: refused a row ({said}); nothing was written: please report this defect of Reprise"
            )
        case None:
            return InvalidValueError(
                f"{path}: refused a value ({said}); nothing was written: please report this defect of Reprise"
            )
        case _:
            return DatabaseError(f"{path}: cannot be used ({said}): run `reprise db check`")


def translate_copying(error: sqlite3.Error, source: Path, target: Path) -> DatabaseError:
    """Return the DatabaseError for a failed copy from `source` to `target`; it names the file that caused the error."""
    reading = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    of_source = _code(error) in reading or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_READ
    return translate(error, source if of_source else target)


def _code(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary result code of an error, which is the low byte of its extended result code.

    See https://sqlite.org/rescode.html. Return None if the error does not come from SQLite itself.
    """
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None and "Could not decode to UTF-8" in str(error):  # text in the file is not UTF-8
        return sqlite3.SQLITE_CORRUPT
    return None if code is None else code & 0xFF


def _full(path: Path) -> StorageError:
    return StorageError(f"{path}: its file system is full: make room; nothing was written")


def _has_no_room(directory: Path) -> bool:
    try:
        return os.statvfs(directory).f_bavail == 0
    except OSError:
        return False
