# SPDX-License-Identifier: Apache-2.0
"""Backups of the database, which can be made while the database is in use, and their restoration."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from reprise.database import schema
from reprise.database.entities import CampaignState
from reprise.database.errors import AccessError, BusyError, CorruptedError, DatabaseError, translate, translate_copying
from reprise.database.facade import Database
from reprise.database.service_runs import TOUCH_INTERVAL_S
from reprise.database.store import FILE_MODE, SHARED_MODE


def back_up(path: Path, target: Path, *, overwrite: bool = False) -> None:
    """Write a copy of the current state of the database at `path` to the file `target`, and check the copy.

    Writers do not have to wait, because SQLite shows a reader one consistent state. Raise DatabaseError on failure,
    without leaving a partial file. With `overwrite`, an existing `target` is replaced, unless it is the database
    itself.
    """
    _refuse_own(path, target)
    for there in (target, _log_of(target)):
        if there.exists() and not overwrite:
            raise AccessError(f"{there}: already exists: choose another name, or use --force to replace it")
    with _copied(path, target, FILE_MODE) as temporary:
        version_of(temporary, called=target)


def take_snapshot(path: Path, target: Path) -> None:
    """Replace `target` with a copy of the database at `path`; the group of `target` may read the copy.

    Raise DatabaseError on failure.

    The copy is not checked, because the check would have to read the whole copy, and the next snapshot follows soon.
    """
    _refuse_own(path, target)
    with _copied(path, target, SHARED_MODE):
        pass


@contextlib.contextmanager
def _copied(path: Path, target: Path, mode: int) -> Iterator[Path]:
    """Yield the path of a copy under a temporary name, which is renamed to `target` when the context ends."""
    with Database.open(path, read_only=True) as database, in_place_of(target, mode) as temporary:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            try:
                database.copy_to(copy, target)
                # makes the copy a single file, which can be read without write access
                copy.execute("PRAGMA journal_mode = DELETE")
            except sqlite3.Error as error:
                raise translate(error, target) from error
        yield temporary
        # remove the files that SQLite kept for the replaced database
        for part in (_log_of(target), target.with_name(f"{target.name}-shm")):
            part.unlink(missing_ok=True)


def _refuse_own(path: Path, target: Path) -> None:
    """Raise AccessError if `target` is the database, one of SQLite's files next to it, or not a regular file."""
    own = [Path(f"{path.resolve()}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]
    if target.resolve() in own or any(target.exists() and part.exists() and target.samefile(part) for part in own):
        raise AccessError(f"{target}: is the database itself, or a part of it: choose another name")
    if target.exists() and not target.is_file():
        raise AccessError(f"{target}: is not a regular file: choose another name")


def restore(path: Path, backup: Path, now: float, *, force: bool = False) -> Path | None:
    """Replace the database at `path` with a copy of `backup`.

    Return the new path of the old database, or None if there was no old database.

    A backup may have a write-ahead log next to it (`-wal`), for example if a process that had the backup open was
    killed. The log's changes are then restored too. Nothing is changed if the backup is damaged or was made by a newer
    release.

    Raise BusyError if a daemon uses the database or a campaign is running, because both would continue to use the old
    database; `force` skips this check. Raise other DatabaseErrors on failure.
    """
    if not _holds(_log_of(backup)):
        version_of(backup)
    if not force and path.exists():
        refuse_in_use(path, now)
    with in_place_of(path) as temporary:
        _copy(backup, temporary, path)
        return _kept(path, now)


def _copy(backup: Path, copy: Path, path: Path) -> None:
    """Copy a backup with the changes in its write-ahead log to `copy`, which will become the database at `path`.

    The backup and its log are not changed.
    """
    log = _log_of(copy)
    try:
        shutil.copyfile(backup, copy)
        if not _holds(_log_of(backup)):
            return
        shutil.copyfile(_log_of(backup), log)
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as database:
            (mode,) = database.execute("PRAGMA journal_mode = DELETE").fetchone()  # makes SQLite apply the log
    except OSError as error:
        raise AccessError(f"{backup}: cannot be copied to {path.parent} ({error.strerror})") from error
    except sqlite3.Error as error:
        raise translate_copying(error, backup, path) from error
    finally:
        for part in (log, copy.with_name(f"{copy.name}-shm")):
            part.unlink(missing_ok=True)
    if mode != "delete":
        raise CorruptedError(f"{_log_of(backup)}: cannot be applied: use another backup")
    version_of(copy, called=backup)


def version_of(path: Path, *, called: Path | None = None) -> int:
    """Check that a file is an undamaged Reprise database, and return its schema version.

    Raise DatabaseError if the file is anything else. If `called` is given, the message names it in place of `path`.
    """
    name = called or path
    if not path.is_file():
        raise AccessError(f"{name}: no such file: give the name of a backup")
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
            version = schema.version_of(copy, name)
            schema.refuse_newer(version, name, schema.load_migrations()[-1].version)
            found = [row[0] for row in copy.execute("PRAGMA integrity_check")]
    except sqlite3.Error as error:
        raise translate(error, name) from error
    if version == 0:
        raise CorruptedError(f"{name}: is empty: give the name of a backup")
    if found != ["ok"]:
        raise CorruptedError(f"{name}: is damaged ({' '.join(found[0].split())}): use another backup")
    return version


def refuse_in_use(path: Path, now: float) -> None:
    """Raise BusyError if a daemon uses the database at `path`, or a campaign is running."""
    try:
        with Database.open(path, read_only=True) as database:
            run = database.service_run_at(now)
            campaigns = [one.id for one in database.campaigns() if one.state is CampaignState.RUNNING]
    except DatabaseError:
        return  # an unreadable database may be replaced: that is what a backup is for
    if run and run.stopped_at is None:
        raise BusyError(
            f"{path}: a daemon used it {max(0.0, now - run.seen_at):.0f} s ago: stop the daemon, or use --force "
            f"if the daemon was killed (certain after {TOUCH_INTERVAL_S:.0f} s)"
        )
    if campaigns:
        first, others = min(campaigns), len(campaigns) - 1
        raise BusyError(
            f"{path}: campaign {first} is running or was killed{f' (and {others} more)' if others else ''}; its "
            f"results would go into the old database: run `reprise tune stop {first}` first, or use --force to lose "
            "them"
        )


def _log_of(path: Path) -> Path:
    """Return the path of the database's write-ahead log, which has the changes that are not in the file yet."""
    return path.with_name(f"{path.name}-wal")


def _holds(log: Path) -> bool:
    return log.is_file() and log.stat().st_size > 0


def _kept(path: Path, now: float) -> Path | None:
    """Keep the database at `path` under a second name, after adding the changes in its write-ahead log.

    Return the second path, or None if there was no database.

    The log is not left behind, because SQLite would apply it to the new database.
    """
    kept = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}")
    there, log = path.exists(), _log_of(path)
    try:
        if there:
            with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as old:
                old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            os.link(path, kept)
        if log.exists():
            log.rename(_log_of(kept))
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    except OSError as error:
        raise AccessError(f"{path}: cannot be kept as {kept.name} ({error.strerror}): nothing was restored") from error
    return kept if there else None


@contextlib.contextmanager
def in_place_of(target: Path, mode: int = FILE_MODE) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces `target` when the context ends.

    The file gets the mode `mode`. On failure, the temporary file is removed, and `target` remains unchanged.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise AccessError(f"{target}: cannot create a file in its directory ({error.strerror})") from error
    temporary = Path(name)
    try:
        yield temporary
        if os.geteuid() == 0:  # the file gets the owner of the old file or, without an old file, of the directory
            owner = (target if target.exists() else target.parent).stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        temporary.replace(target)
    finally:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
