# SPDX-License-Identifier: Apache-2.0
"""Probes of the doctor: commands (behind one signature, so that tests need no Slurm) and permissions."""

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
    """Result of a command. `status` is None if it could not be started or did not end in time."""

    status: int | None
    stdout: str = ""
    stderr: str = ""

    @property
    def complaint(self) -> str:
        """The last line on standard error, or the exit status if there is none."""
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
    """Return the directory that some user may not enter, or `path` if some user may not read it; None if all may.

    Raise OSError if this process cannot examine the path.
    """
    for directory in reversed(path.absolute().parents):
        if not directory.stat().st_mode & stat.S_IXOTH:
            return directory
    mode = path.stat().st_mode
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return None if mode & needed == needed else path


def replaceable_by_all(path: Path) -> Path | None:
    """Return what lets any user replace `path` or an entry of it; None if nothing does.

    That is a world-writable directory without the sticky bit on the way to it, also along symbolic links; the path
    itself; or one of its entries. A path that does not exist counts as safe.

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
    return Path(os.path.realpath(path))  # unlike Path.resolve(), it does not raise for circular links


def _mode(path: Path) -> int:
    """Return the mode; 0 for a path that does not exist, and for a socket, which all may write to."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return 0
        raise
    return 0 if stat.S_ISSOCK(mode) else mode
