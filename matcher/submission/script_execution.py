# SPDX-License-Identifier: Apache-2.0
"""Reader that expands a shell script's commands, and yields the programs that they start, in order.

Nothing is run. Every command is assumed to run once, except commands in branches that are certainly not taken.
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
"""Maximum number of nested levels of functions, `eval` and code passed to shells that are followed."""


class Started(NamedTuple):
    """A command that may be the job's program.

    If the command passes code to a shell, `inside` are the commands that the code starts, read on demand. `beside` and
    `stretch` have the same meaning as in matcher.submission.shell.Expanded.
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
    """Yield the commands that a script starts, read on demand, and add the modules that it loads to `loaded`.

    `arguments` are the script's arguments; None keeps the arguments that `shell` already has. Raises OutOfWorkError
    when the work limit is used up.
    """
    functions = Functions()
    outside = functions.outside(commands(text, shell.variables.work))
    for command in shell.expanded(outside, functions, nesting, arguments):
        name = command.argv[0]
        if basename(name) in loaded_modules.COMMANDS:
            loaded.change(basename(name), command.argv[1:])
            for argv in command.other_passes:
                loaded.load_in_other_pass(basename(name), argv[1:])
        shell.mpi_signs.take(command.argv)
        if not prepares(name) and (start := started_by(command, shell, loaded)):
            yield start


def started_by(command: Expanded, shell: Shell, loaded: Modules) -> Started | None:
    """Return the program that a command starts; None if the command starts none that may be the job's program.

    If the command passes code to a shell, or runs a script that a here-document has written, a child shell reads that
    code. The child shell starts with the modules in `loaded`.
    """
    given = Input(command.input_file, command.stdin)
    invocation = resolve(command.argv[:WORD_LIMIT], shell.variables.work, given, shell.files)
    if not invocation or not invocation.code:
        return Started(invocation, None, command.beside, command.stretch) if invocation else None
    if not command.nesting:
        return Started(invocation, ())
    inside = _in_child(invocation, shell, loaded, command.nesting - 1)
    return Started(invocation, inside, command.beside, command.stretch)


def _in_child(invocation: Invocation, shell: Shell, loaded: Modules, nesting: int) -> Iterator[Started]:
    """Yield the commands of a child shell's code; while they are yielded, `loaded` has the child's modules."""
    with loaded.inherited():
        yield from started(invocation.code, shell.child(), loaded, invocation.arguments or None, nesting)
