# SPDX-License-Identifier: Apache-2.0
"""A copy of the database while it is in use, and a copy put in its place."""

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
    """Write a copy of the database at `path` as it is now, checked, to a file of its own.

    Whoever writes meanwhile is not kept waiting: SQLite shows one state of it to who reads. Raises a DatabaseError, and
    leaves no half of a file; the database itself is never replaced.
    """
    _refuse_own(path, target)
    for there in (target, _log_of(target)):
        if there.exists() and not overwrite:
            raise AccessError(f"{there}: is there already: give another name, or --force to replace it")
    with _copied(path, target, FILE_MODE) as temporary:
        version_of(temporary, called=target)


def take_snapshot(path: Path, target: Path) -> None:
    """Replace `target` by a copy of the database at `path` that its group may read. Raises a DatabaseError.

    The copy is not checked, which would read all of it again: another one follows soon.
    """
    _refuse_own(path, target)
    with _copied(path, target, SHARED_MODE):
        pass


@contextlib.contextmanager
def _copied(path: Path, target: Path, mode: int) -> Iterator[Path]:
    """A copy under a temporary name, which takes the target's at the end."""
    with Database.open(path, read_only=True) as database, in_place_of(target, mode) as temporary:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            try:
                database.copy_to(copy, target)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read where it cannot be written
            except sqlite3.Error as error:
                raise translate(error, target) from error
        yield temporary
        for part in (_log_of(target), target.with_name(f"{target.name}-shm")):  # they are of what is replaced
            part.unlink(missing_ok=True)


def _refuse_own(path: Path, target: Path) -> None:
    """Raise AccessError where a copy would take the place of the database, of a file that SQLite has beside it, or of
    what is no file."""
    own = [Path(f"{path.resolve()}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]
    if target.resolve() in own or any(target.exists() and part.exists() and target.samefile(part) for part in own):
        raise AccessError(f"{target}: is the database itself, or a part of it: give another name")
    if target.exists() and not target.is_file():
        raise AccessError(f"{target}: is no regular file: give another name")


def restore(path: Path, backup: Path, now: float, *, force: bool = False) -> Path | None:
    """Put a backup in the place of the database at `path`. Returns where the old one is kept; None: there was none.

    Where the backup has a log of changes beside it (`-wal`), as one of a process that was killed, what that holds is
    restored too. Nothing is changed where the backup is not sound, or was made by a newer release. Raises BusyError
    where a daemon uses the database, or a campaign runs, which would go on in the old one, unless forced; others of
    DatabaseError.
    """
    if not _holds(_log_of(backup)):
        version_of(backup)
    if not force and path.exists():
        _refuse_in_use(path, now)
    with in_place_of(path) as temporary:
        _copy(backup, temporary, path)
        return _kept(path, now)


def _copy(backup: Path, copy: Path, path: Path) -> None:
    """Make `copy`, which is to be the database at `path`, what a backup and its log are together; neither changes."""
    log = _log_of(copy)
    try:
        shutil.copyfile(backup, copy)
        if not _holds(_log_of(backup)):
            return
        shutil.copyfile(_log_of(backup), log)
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as database:
            (mode,) = database.execute("PRAGMA journal_mode = DELETE").fetchone()  # takes in what the log holds
    except OSError as error:
        raise AccessError(f"{backup}: cannot be copied to {path.parent} ({error.strerror})") from error
    except sqlite3.Error as error:
        raise translate_copying(error, backup, path) from error
    finally:
        for part in (log, copy.with_name(f"{copy.name}-shm")):
            part.unlink(missing_ok=True)
    if mode != "delete":
        raise CorruptedError(f"{_log_of(backup)}: cannot be taken in: use another backup")
    version_of(copy, called=backup)


def version_of(path: Path, *, called: Path | None = None) -> int:
    """The schema's version of a sound database of ours. Raises a DatabaseError that says what it is instead."""
    name = called or path
    if not path.is_file():
        raise AccessError(f"{name}: there is no such file: give the name of a backup")
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


def _refuse_in_use(path: Path, now: float) -> None:
    try:
        with Database.open(path, read_only=True) as database:
            run = database.service_run_at(now)
            campaigns = [one.id for one in database.campaigns() if one.state is CampaignState.RUNNING]
    except DatabaseError:
        return  # what cannot be read is what a backup is for
    if run and run.stopped_at is None:
        raise BusyError(
            f"{path}: a daemon has used it {max(0.0, now - run.seen_at):.0f} s ago: stop it, or use --force if it was "
            f"killed (that is certain after {TOUCH_INTERVAL_S:.0f} s)"
        )
    if campaigns:
        first, others = min(campaigns), len(campaigns) - 1
        raise BusyError(
            f"{path}: campaign {first} runs or was killed{f', and so {others} more' if others else ''}; its results "
            f"would go into the file that is kept aside: `reprise tune stop {first}` first, or use --force to lose them"
        )


def _log_of(path: Path) -> Path:
    """Where SQLite has the changes of a database that are not in its file yet."""
    return path.with_name(f"{path.name}-wal")


def _holds(log: Path) -> bool:
    return log.is_file() and log.stat().st_size > 0


def _kept(path: Path, now: float) -> Path | None:
    """Give the old database another name, with what its log of changes holds: also a log that was left alone, which
    would be taken for one of what comes in its place."""
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
    """A temporary file that takes this name and mode at the end, or is gone."""
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise AccessError(f"{target}: cannot be written there ({error.strerror})") from error
    temporary = Path(name)
    try:
        yield temporary
        if os.geteuid() == 0:  # root leaves it to whose it was, or whose directory it is
            owner = (target if target.exists() else target.parent).stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        temporary.replace(target)
    finally:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
