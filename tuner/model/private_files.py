# SPDX-License-Identifier: Apache-2.0
"""Private directories and files: campaigns copy scripts and collect output that other users may not read."""

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
    """Make a directory, and its missing parents, for this user alone. Raise OSError if that fails."""
    for one in (*reversed(path.parents), path):
        if not one.exists():
            one.mkdir(mode=DIRECTORY_MODE, exist_ok=True)


def claim_directory(path: Path) -> None:
    """Make a directory for this user alone, or make an existing directory of this user private.

    Raise OSError if that fails, and TunerError if the directory belongs to another user.
    """
    path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    # Check and change the directory through one descriptor, so that nobody can replace it after the check. Do not
    # follow a symbolic link.
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
    return ", who could read and change what runs there: find out who created it, and remove it"


def require_unwritable(path: Path) -> None:
    """Raise TunerError if other users could replace the contents of this directory.

    The contents of a sticky directory are safe. Raise OSError if the directory cannot be read.
    """
    found = path.stat()
    if os.geteuid() != 0 and found.st_uid not in (0, os.geteuid()):
        raise TunerError(
            f"{path}: belongs to another user (uid {found.st_uid}): set tuner.work to a directory of the user who tunes"
        )
    if found.st_mode & OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise TunerError(f"{path}: other users can write there, and could change what campaigns run: chmod go-w {path}")


def open_file(path: Path, mode: str) -> IO[bytes]:
    """Open a file that only this user may read, without following a link. `mode`: mode of `open`, for bytes.

    Raise OSError if that fails.
    """
    return open(path, mode, opener=_opener)


def write_text(path: Path, text: str) -> None:
    """Write a new file (UTF-8) that only this user may read. Raise OSError if that fails or the file exists."""
    with open_file(path, "xb") as file:
        file.write(text.encode("utf-8", errors="surrogateescape"))


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
