# SPDX-License-Identifier: Apache-2.0
"""Programs that a shell script starts, in order: its commands are read, expanded, and searched for programs.

Nothing is run. Every command counts as reached once, except in branches that are certainly not taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from posixpath import basename
from typing import NamedTuple

from reprise.matcher.submission import loaded_modules
from reprise.matcher.submission.command import Invocation, resolve
from reprise.matcher.submission.engines import Input
from reprise.matcher.submission.loaded_modules import Modules
from reprise.matcher.submission.script_functions import Functions
from reprise.matcher.submission.shell import Expanded, Shell
from reprise.matcher.submission.shell_syntax import WORD_LIMIT, commands
from reprise.matcher.submission.utilities import prepares

NESTING = 3
"""Levels of functions, of `eval` and of shells with code that are followed."""


class Started(NamedTuple):
    """A command that may be the program.

    `inside` are the commands that its code starts, read on demand, if it is a shell with code. `beside` and `stretch`
    are those of the expanded command.
    """

    invocation: Invocation
    inside: Iterable[Started] | None = None
    beside: int = -1
    stretch: int = 0


def started(
    text: str,
    shell: Shell,
    loaded: Modules,
    arguments: Sequence[str] | None = None,
    nesting: int = NESTING,
) -> Iterator[Started]:
    """Yield the commands that a script starts, read on demand; `loaded` is updated with the modules that it loads.

    `arguments` are the script's; None leaves those that `shell` knows. Raises OutOfWorkError when no work is left.
    """
    functions = Functions()
    outside = functions.outside(commands(text, shell.variables.work))
    for command in shell.expanded(outside, functions, nesting, arguments):
        name = command.argv[0]
        if basename(name) in loaded_modules.COMMANDS:
            loaded.change(basename(name), command.argv[1:])
        if not prepares(name) and (start := started_by(command, shell)):
            yield start


def started_by(command: Expanded, shell: Shell) -> Started | None:
    """Return what one command starts, if anything.

    A separate shell reads code that the command passes to a shell, and scripts that a here-document has written.
    """
    given = Input(command.input_file, command.stdin)
    invocation = resolve(command.argv[:WORD_LIMIT], shell.variables.work, given, shell.files)
    if not invocation or not invocation.code:
        return Started(invocation, None, command.beside, command.stretch) if invocation else None
    if not command.nesting:
        return Started(invocation, ())
    inside = started(invocation.code, shell.child(), Modules(), invocation.arguments or None, command.nesting - 1)
    return Started(invocation, inside, command.beside, command.stretch)
