# SPDX-License-Identifier: Apache-2.0
"""How the doctor looks at the machine: commands (behind one signature, so that tests need no Slurm) and permissions."""

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
    """How a command ended. `status` is None where it could not be started or did not end in time."""

    status: int | None
    stdout: str = ""
    stderr: str = ""

    @property
    def complaint(self) -> str:
        """Its last words on standard error, or what became of it."""
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
    """What keeps some user from reading `path`: a directory that not all may enter, or itself; None if nothing.

    Raises OSError where this process cannot look.
    """
    for directory in reversed(path.absolute().parents):
        if not directory.stat().st_mode & stat.S_IXOTH:
            return directory
    mode = path.stat().st_mode
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return None if mode & needed == needed else path


def replaceable_by_all(path: Path) -> Path | None:
    """Through what any user could put something else in the place of `path`, or of what lies in it: a directory on the
    way to it that all may write (in a sticky one what is there is safe), also on the way that symbolic links take;
    itself; or an entry of it. None if nothing. What does not exist counts as safe.

    Raises OSError where this process cannot look.
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
    return Path(os.path.realpath(path))  # unlike Path.resolve() it raises nothing where links lead in a circle


def _mode(path: Path) -> int:
    """0 where nothing is there, or nothing that is read: a socket is for all to write to."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return 0
        raise
    return 0 if stat.S_ISSOCK(mode) else mode
