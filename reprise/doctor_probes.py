# SPDX-License-Identifier: Apache-2.0
"""How the doctor looks at the machine: commands (behind one signature, so that tests need no Slurm) and permissions."""

from __future__ import annotations

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
    """Through what any user could put something else in the place of `path`, or into it: a directory that all may write
    (in a sticky one what is there is safe), or itself; None if nothing. What does not exist counts as safe.

    Raises OSError where this process cannot look.
    """
    for directory in reversed(path.absolute().parents):
        try:
            mode = directory.stat().st_mode
        except FileNotFoundError:
            return None
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return directory
    return path if path.exists() and path.stat().st_mode & stat.S_IWOTH else None
