# SPDX-License-Identifier: Apache-2.0
"""The program that a job runs, chosen among the commands that its script starts.

The program is the first one started through a launcher that is not a mere utility (`srun hostname`). Without any: the
first command that is neither a shell builtin, nor prepares the job, nor is a utility; then the first launched utility;
then the first utility.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from posixpath import basename

from reprise.matcher.submission.interpreters import INTERPRETERS, PYTHON
from reprise.matcher.submission.script_execution import Started
from reprise.matcher.submission.utilities import UTILITIES
from reprise.matcher.submission.work_limit import OutOfWorkError


class Rank(IntEnum):
    """How likely a command is the job's program; lower is better."""

    LAUNCHED = 0
    DIRECT = 1
    LAUNCHED_UTILITY = 2
    UTILITY = 3


@dataclass(frozen=True)
class Program:
    """`arguments` are those of the program; `tasks` is what the launcher was told, None where it was not."""

    path: str = ""
    arguments: tuple[str, ...] = ()
    launcher: str = ""
    tasks: int | None = None
    rank: Rank = Rank.UTILITY

    @property
    def name(self) -> str:
        return basename(self.path)


def program_of(started: Iterable[Started]) -> Program:
    """The program among the commands, which are read up to it; empty where there is none, or where the work does not
    suffice to find it."""
    with contextlib.suppress(OutOfWorkError):
        return _best(started) or Program()
    return Program()


def _best(started: Iterable[Started]) -> Program | None:
    best = None
    for invocation, inside in started:
        found = _best(inside) if inside else None  # what a shell is given to run, rather than the shell
        path, arguments = (found.path, found.arguments) if found else (invocation.path, invocation.arguments)
        launcher = invocation.launcher or (found.launcher if found else "")
        tasks = invocation.tasks or (found.tasks if found else None)
        rank = _rank(path, launcher)
        if best is None or rank < best.rank:
            best = Program(path, arguments, launcher, tasks, rank)
            if rank is Rank.LAUNCHED:
                break
    return best


def _rank(path: str, launcher: str) -> Rank:
    if _is_utility(path):
        return Rank.LAUNCHED_UTILITY if launcher else Rank.UTILITY
    return Rank.LAUNCHED if launcher else Rank.DIRECT


def _is_utility(path: str) -> bool:
    """Interpreters without a script are utilities too: `python -c "import torch"`. `./sort` is the user's own."""
    name = basename(path)
    known = name in UTILITIES or name in INTERPRETERS or PYTHON.match(name)
    return bool(known) and ("/" not in path or path.startswith("/"))
