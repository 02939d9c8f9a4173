# SPDX-License-Identifier: Apache-2.0
"""The commands that a shell script starts, in order; those of a function come where it is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from posixpath import basename
from typing import NamedTuple

from reprise.matcher.submission import loaded_modules
from reprise.matcher.submission.loaded_modules import Modules
from reprise.matcher.submission.shell_syntax import WORD_LIMIT, Command, as_written, commands
from reprise.matcher.submission.shell_variables import Variables
from reprise.matcher.submission.utilities import KEYWORDS, prepares


class Started(NamedTuple):
    """A command that may be a program. `stdin` is its here-document; `nesting` says how many levels of functions and of
    code on command lines may still be followed from there."""

    argv: list[str]
    stdin: str
    nesting: int


class Execution:
    """One shell that reads a script. It runs nothing, and follows no branch: every command counts as reached once."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.modules = Modules()
        self._functions: dict[str, list[Command]] = {}
        self._called: set[str] = set()

    def started(self, text: str, nesting: int) -> Iterator[Started]:
        """The commands that `text` starts; those of functions that nobody is seen to call come last."""
        yield from self._reached(self._outside_functions(text), nesting)
        for name, body in self._functions.items():
            if name not in self._called:  # perhaps it is, where that is not seen: by `trap`, or as "$name"
                yield from self._reached(body, 0)

    def _reached(self, commands: Iterable[Command], nesting: int) -> Iterator[Started]:
        for command in commands:
            self.variables.work.spend(2, command.characters)
            argv = self._argv(command)
            if not argv:
                continue
            if argv[0] in self._functions:
                self._called.add(argv[0])
                if nesting:
                    with self.variables.called_with(argv[1:]):
                        yield from self._reached(self._functions[argv[0]], nesting - 1)
            elif argv[0] == "eval":
                if nesting and not argv[1].startswith(("$", "`")):  # else the program's name is not known either
                    yield from self._reached(self._outside_functions(" ".join(argv[1:])), nesting - 1)
            else:
                yield Started(argv, command.here_document, nesting)

    def _argv(self, command: Command) -> list[str]:
        """The command's words after expansion; empty for one that starts no program."""
        argv = self.variables.words_of(command)
        if not argv:
            return argv
        if (name := basename(argv[0])) in loaded_modules.COMMANDS:
            self.modules.change(name, argv[1:])
        is_code = argv[0] == "eval" and argv[1:]
        return [] if prepares(argv[0]) and not is_code else argv[:WORD_LIMIT]

    def _outside_functions(self, text: str) -> Iterator[Command]:
        """The commands of a text but for those of its functions, which are put aside until they are called."""
        body: list[Command] | None = None
        depth = 0
        for command in commands(text, self.variables.work):
            first = as_written(command.words[0])
            if body is not None:
                body.append(command)
                if first in KEYWORDS:
                    words = [as_written(word) for word in islice(command.words, 3)]
                    depth += list(takewhile(KEYWORDS.__contains__, words)).count("{") - (first == "}")
                if depth <= 0:
                    body = None
            elif command.defines_function or (first == "function" and command.words[1:]):
                words = [as_written(word) for word in islice(command.words, 3)]
                body = self._functions[words[not command.defines_function]] = []
                depth = words.count("{")  # `function name { command`
                body += [Command(command.words[words.index("{") + 1 :])] if depth else []
            else:
                yield command
