# SPDX-License-Identifier: Apache-2.0
"""The program that a job runs, out of the commands of its script.

The program is the first one started through a launcher that is not a mere utility (`srun hostname`). Without any: the
first command that is neither a shell builtin, nor prepares the job, nor is a utility; then the first launched utility;
then the first utility.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from reprise.matcher.submission.command import Program, Rank, resolve
from reprise.matcher.submission.script_execution import Execution, Started
from reprise.matcher.submission.shell_syntax import WORD_LIMIT
from reprise.matcher.submission.shell_variables import Variables
from reprise.matcher.submission.work_limit import OutOfWorkError

_NESTING = 3
"""Levels of functions, of `eval` and of shells given code that are followed."""


@dataclass
class Reading:
    """What a script tells: its program, and the modules loaded before that."""

    program: Program = field(default_factory=Program)
    modules: list[str] = field(default_factory=list)


def read_script(text: str, variables: Variables) -> Reading:
    """Read a shell script up to its program; where the work does not suffice for that, the program is not known."""
    execution = Execution(variables)
    program = None
    with contextlib.suppress(OutOfWorkError):
        program = _best(text, execution, _NESTING)
    return Reading(program or Program(), execution.modules.loaded)


def read_command(argv: Sequence[str]) -> Program:
    """The program of one command, such as what srun and salloc are given; empty where there is none."""
    with contextlib.suppress(OutOfWorkError):
        return _program(Started(list(argv[:WORD_LIMIT]), "", _NESTING), Variables({})) or Program()
    return Program()


def _best(text: str, execution: Execution, nesting: int) -> Program | None:
    best = None
    for command in execution.started(text, nesting):
        program = _program(command, execution.variables)
        if program and (best is None or program.rank < best.rank):
            best = program
            if best.rank is Rank.LAUNCHED:
                break
    return best


def _program(command: Started, variables: Variables) -> Program | None:
    """The program that one command starts. Code that it gives to a shell is read by a shell of its own."""

    def read(code: str) -> Program | None:
        return _best(code, Execution(variables), command.nesting - 1) if command.nesting else None

    return resolve(command.argv, variables.work, command.stdin, read)
