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

from database import schema
from database.errors import AccessError, BusyError, CorruptedError, DatabaseError, translate
from database.facade import Database
from database.model import CampaignState
from database.service_runs import TOUCH_INTERVAL_S
from database.store import FILE_MODE


def back_up(path: Path, target: Path, *, overwrite: bool = False) -> None:
    """Write a copy of the database at `path` as it is now, checked, to a file of its own.

    Whoever writes meanwhile is not kept waiting: SQLite shows one state of it to who reads. Raises a DatabaseError, and
    leaves no half of a file.
    """
    if target.exists() and not overwrite:
        raise AccessError(f"{target}: is there already: give another name, or --force to replace it")
    with Database.open(path, read_only=True) as database, in_place_of(target) as temporary:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            try:
                database.copy_to(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read where it cannot be written
            except sqlite3.Error as error:
                raise translate(error, target) from error
        version_of(temporary, called=target)


def restore(path: Path, backup: Path, now: float, *, force: bool = False) -> Path | None:
    """Put a backup in the place of the database at `path`. Returns where the old one is kept; None: there was none.

    Nothing is changed where the backup is not sound, or was made by a newer release. Raises BusyError where a daemon
    uses the database, or a campaign runs, which would go on in the old one, unless forced; others of DatabaseError.
    """
    version_of(backup)
    if not force and path.exists():
        _refuse_in_use(path, now)
    with in_place_of(path) as temporary:
        try:
            shutil.copyfile(backup, temporary)
        except OSError as error:
            raise AccessError(f"{backup}: cannot be copied to {path.parent} ({error.strerror})") from error
        return _kept(path, now) if path.exists() else None


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


def _kept(path: Path, now: float) -> Path:
    """Give the old database another name, with what its log of changes holds."""
    kept = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}")
    try:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as old:
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.link(path, kept)
        log = path.with_name(f"{path.name}-wal")
        if log.exists():
            log.rename(kept.with_name(f"{kept.name}-wal"))
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    except OSError as error:
        raise AccessError(f"{path}: cannot be kept as {kept.name} ({error.strerror}): nothing was restored") from error
    return kept


@contextlib.contextmanager
def in_place_of(target: Path) -> Iterator[Path]:
    """A temporary file that takes this name and the database's mode at the end, or is gone."""
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
        os.fchmod(descriptor, FILE_MODE)
        os.fsync(descriptor)
        temporary.replace(target)
    finally:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
