# SPDX-License-Identifier: Apache-2.0
"""Directories and files that are nobody else's: campaigns copy scripts and collect output that others may not read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from reprise.tuner.errors import TunerError

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing, for this user alone. Raises OSError."""
    for one in (*reversed(path.parents), path):
        if not one.exists():
            one.mkdir(mode=DIRECTORY_MODE, exist_ok=True)


def claim_directory(path: Path) -> None:
    """Make a directory for this user alone, or close one of theirs. Raises OSError, or TunerError for another's."""
    path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    # By a descriptor, so that what is closed is what was looked at; a link is not followed.
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise TunerError(f"{path}: belongs to another user (uid {found.st_uid}){_remedy(found.st_uid)}")
        if stat.S_IMODE(found.st_mode) != DIRECTORY_MODE:
            os.fchmod(descriptor, DIRECTORY_MODE)
    finally:
        os.close(descriptor)


def _remedy(owner: int) -> str:
    if os.geteuid() == 0:
        return f": run this as that user, `setpriv --reuid={owner} --regid={owner} --clear-groups reprise ...`"
    return ", who could read and change what runs there: find out who made it, and remove it"


def require_unwritable(path: Path) -> None:
    """Raise TunerError where others could put something else in the place of what lies in this directory.

    In a sticky directory what is there is safe. Raises OSError.
    """
    found = path.stat()
    if os.geteuid() != 0 and found.st_uid not in (0, os.geteuid()):
        raise TunerError(
            f"{path}: belongs to another user (uid {found.st_uid}): set tuner.work to a directory of the user who tunes"
        )
    if found.st_mode & OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise TunerError(f"{path}: others may write there, and change what campaigns run: chmod go-w {path}")


def open_file(path: Path, mode: str) -> IO[bytes]:
    """Open a file that this user alone may read; a link is not followed. `mode`: one of `open`'s for bytes.

    Raises OSError.
    """
    return open(path, mode, opener=_opener)


def write_text(path: Path, text: str) -> None:
    """Write a new file (UTF-8) that this user alone may read. Raises OSError, also where something has this name."""
    with open_file(path, "xb") as file:
        file.write(text.encode("utf-8", errors="surrogateescape"))


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
