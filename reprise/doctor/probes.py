# SPDX-License-Identifier: Apache-2.0
"""Functions with which the doctor runs commands and checks permissions of files."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

COMMAND_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Ran:
    """Result of a command. `status` is None if the command could not be started or exceeded its time limit."""

    status: int | None
    stdout: str = ""
    stderr: str = ""

    @property
    def complaint(self) -> str:
        """Last line of standard error, or a text with the exit status if standard error is empty."""
        words = [line for line in self.stderr.splitlines() if line.strip()]
        return words[-1].strip() if words else f"exit status {self.status}"


Run = Callable[[Sequence[str]], Ran]


def run(argv: Sequence[str]) -> Ran:
    """Run a command for at most COMMAND_TIMEOUT_S seconds."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=COMMAND_TIMEOUT_S, check=False
        )
    except OSError as error:
        return Ran(None, stderr=f"{argv[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Ran(None, stderr=f"{argv[0]}: no answer within {COMMAND_TIMEOUT_S:.0f} s")
    return Ran(done.returncode, done.stdout, done.stderr)


def hidden_by(path: Path) -> Path | None:
    """Return the first directory above `path` that not every user can enter, or `path` if not every user can read it.

    Return None if all users can read `path`. Raise OSError if this process cannot examine the path.
    """
    for directory in reversed(path.absolute().parents):
        if not directory.stat().st_mode & stat.S_IXOTH:
            return directory
    mode = path.stat().st_mode
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return None if mode & needed == needed else path


def replaceable_by_all(path: Path) -> Path | None:
    """Return a directory or file whose permissions allow any user to replace `path` or an entry in it.

    The result is `path` itself, one of its entries, or a world-writable directory without the sticky bit on the way to
    `path`, including through symbolic links. Return None if the permissions are safe. A path that does not exist counts
    as safe.

    Raise OSError if this process cannot examine the path.
    """
    entries = sorted(path.iterdir()) if path.is_dir() else []
    links = [one for one in entries if one.is_symlink()]
    for way in (path, *map(_resolved, (path, *links))):
        for directory in reversed(way.absolute().parents):
            mode = _mode(directory)
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                return directory
    return next((one for one in (path, *entries) if _mode(one) & stat.S_IWOTH), None)


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))  # unlike Path.resolve(), os.path.realpath() raises no error for circular links


def _mode(path: Path) -> int:
    """Return the mode of a path; 0 if the path does not exist, or is a socket.

    Permission to write to a socket only lets users connect to it.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return 0
        raise
    return 0 if stat.S_ISSOCK(mode) else mode
