# SPDX-License-Identifier: Apache-2.0
"""The program that a job runs, out of the commands of its script.

The program is the first one started through a launcher that is not a mere utility (`srun hostname`). Without any: the
first command that is neither a shell builtin, nor prepares the job, nor is a utility; then the first launched utility;
then the first utility.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from posixpath import basename

from matcher.submission import utilities
from matcher.submission.command import Program, Rank, positive, resolve
from matcher.submission.model import MODULE_LIMIT
from matcher.submission.shell import WORD_LIMIT, Command, Word, as_written, commands
from matcher.submission.variables import Variables
from matcher.submission.work import OutOfWorkError
from matcher.submission.wrappers import RUNNERS

_NUMBER = re.compile(r"-\.?[0-9]")
_COMMAND_STEPS = 6
"""What a command costs that may be the program, or sets something, beside its words."""
_NESTING = 3
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_READERS = frozenset({"read", "mapfile", "readarray", "getopts"})  # into variables
_WITHOUT_EFFECT = (
    utilities.PREPARATION
    - RUNNERS.keys()
    - _DECLARATIONS
    - _READERS
    - {":", "eval", "unset", "printf", "shift", "let", "module", "ml"}
)
_CHANGED = re.compile(r"\b([A-Za-z_]\w*+)\s*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*+([A-Za-z_]\w*+)")


@dataclass
class Reading:
    """What a script tells: its program, and the modules loaded before that."""

    program: Program = field(default_factory=Program)
    modules: list[str] = field(default_factory=list)


def read_script(text: str, variables: Variables) -> Reading:
    """Read a shell script up to its program."""
    return _Reader(variables).read_all(text)


def read_command(argv: Sequence[str]) -> Program:
    """The program of one command, such as what srun and salloc are given; empty where there is none."""
    with contextlib.suppress(OutOfWorkError):
        return _Reader(Variables({})).program(list(argv[:WORD_LIMIT]), "", _NESTING) or Program()
    return Program()


class _Reader:
    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.reading = Reading()
        self.functions: dict[str, list[Command]] = {}
        self._called: set[str] = set()
        self._best: Program | None = None

    def read_all(self, text: str) -> Reading:
        """Read up to the program; where the work does not suffice for that, the program is not known."""
        with contextlib.suppress(OutOfWorkError):
            self.reading.program = self.read(text, _NESTING) or Program()
        return self.reading

    def read(self, text: str, nesting: int) -> Program | None:
        self._read(self._outside_functions(text), nesting)
        for name, body in self.functions.items():
            if name not in self._called:  # perhaps it is, where that is not seen: by `trap`, or as "$name"
                self._read(body, 0)
        return self._best

    def _read(self, commands: Iterable[Command], nesting: int) -> None:
        if self._is_settled():
            return
        for command in commands:
            self.variables.work.spend(2, command.characters)
            argv = self._argv(command)[:WORD_LIMIT]
            if argv:
                self._run(argv, command.here_document, nesting)
                if self._is_settled():
                    return

    def _is_settled(self) -> bool:
        return self._best is not None and self._best.rank is Rank.LAUNCHED

    def _outside_functions(self, text: str) -> Iterator[Command]:
        """The commands of a text but for those of its functions, which are put aside until they are called."""
        body: list[Command] | None = None
        depth = 0
        for command in commands(text, self.variables.work):
            first = as_written(command.words[0])
            if body is not None:
                body.append(command)
                if first in utilities.KEYWORDS:
                    words = [as_written(word) for word in islice(command.words, 3)]
                    depth += list(takewhile(utilities.KEYWORDS.__contains__, words)).count("{") - (first == "}")
                if depth <= 0:
                    body = None
            elif command.defines_function or (first == "function" and command.words[1:]):
                words = [as_written(word) for word in islice(command.words, 3)]
                body = self.functions[words[not command.defines_function]] = []
                depth = words.count("{")  # `function name { command`
                body += [Command(command.words[words.index("{") + 1 :])] if depth else []
            else:
                yield command

    def _run(self, argv: list[str], stdin: str, nesting: int) -> None:
        if argv[0] in self.functions:
            self._called.add(argv[0])
            if nesting:
                with self.variables.called_with(argv[1:]):
                    self._read(self.functions[argv[0]], nesting - 1)
        elif argv[0] == "eval":
            if nesting and not argv[1].startswith(("$", "`")):  # else the program's name is not known either
                self._read(self._outside_functions(" ".join(argv[1:])), nesting - 1)
        else:
            program = self.program(argv, stdin, nesting)
            if program and (self._best is None or program.rank < self._best.rank):
                self._best = program

    def program(self, argv: list[str], stdin: str, nesting: int) -> Program | None:
        """What one command starts."""

        def read(code: str) -> Program | None:
            return _Reader(self.variables).read(code, nesting - 1) if nesting else None

        return resolve(argv, self.variables.work, stdin, read)

    def _argv(self, command: Command) -> list[str]:
        """The command's words after expansion; empty for one that starts no program. Takes note of what it sets."""
        words = self._after_keywords(command.words)
        assigned = 0
        while assigned < len(words) and self.variables.assign(words[assigned]):
            assigned += 1
        words = words[assigned:]
        if not words or (len(words[0]) == 1 and words[0][0].text in _WITHOUT_EFFECT):
            return []
        self.variables.work.spend(_COMMAND_STEPS + len(words) // 2)
        argv = self.variables.expand_all(words)
        name = basename(argv[0]) if argv else ""
        self._take_note(name, words, argv)
        if argv[1:] and argv[0] == "eval":
            return argv
        return [] if not argv or utilities.prepares(argv[0]) else argv

    def _take_note(self, name: str, words: Sequence[Word], argv: Sequence[str]) -> None:
        """What a builtin does to variables and modules. What is computed or read is not known."""
        if name in _DECLARATIONS:
            for word in words[1:]:
                self.variables.assign(word)
        elif name == "unset" or name in _READERS or (name == "printf" and "-v" in argv):
            for variable in argv[1:]:
                self.variables.unset(variable)
        elif name == "let":
            expressions = " ".join(argv[1:])
            self.variables.work.spend(len(expressions) // 4)
            for found in _CHANGED.finditer(expressions):
                self.variables.unset(found.group(1) or found.group(2))
        elif name == "shift":
            self.variables.shift(positive("".join(argv[1:2])) or 1)
        elif name in ("module", "ml"):
            self._module(name, argv[1:])

    def _after_keywords(self, words: Sequence[Word]) -> Sequence[Word]:
        """The words of the command that follows `if`, `do` and the like. A loop gives its variable the first value."""
        position = 0
        while position < len(words) and (first := as_written(words[position])) in utilities.KEYWORDS:
            position += 1
            if first in ("for", "select"):
                values = self.variables.expand_all(words[position + 2 : position + 3])
                if values:
                    self.variables.set(as_written(words[position]), values[0])
                return ()
            if first == "case":
                return ()
        return words[position:]

    def _module(self, command: str, arguments: Sequence[str]) -> None:
        """`module load a b`, `ml a b`: Environment Modules and Lmod."""
        names = [argument for argument in arguments if not argument.startswith("-")]
        if command == "ml":  # `ml -gcc` unloads
            self._unload([word[1:] for word in arguments if word[:1] == "-" and word[1:2] != "-"])
        verb = "load"
        if command == "module" or (names and names[0] in _MODULE_VERBS):
            verb, names = (_MODULE_VERBS.get(names[0], ""), names[1:]) if names else ("", [])
        modules = self.reading.modules
        if verb == "purge":
            modules.clear()
        if verb in ("unload", "swap"):
            self._unload(names[:1] if verb == "swap" and len(names) > 1 else names)
        if verb in ("load", "swap"):
            modules += [name for name in names[-1:] if verb == "swap"] or [n for n in names if n not in modules]
            del modules[MODULE_LIMIT:]

    def _unload(self, names: Sequence[str]) -> None:
        gone = set(names)
        modules = self.reading.modules
        modules[:] = [module for module in modules if module not in gone and module.split("/")[0] not in gone]


_MODULE_VERBS = {
    "load": "load",
    "add": "load",
    "try-load": "load",
    "unload": "unload",
    "rm": "unload",
    "del": "unload",
    "swap": "swap",
    "switch": "swap",
    "sw": "swap",
    "purge": "purge",
    "reset": "purge",
    "list": "",
    "avail": "",
    "use": "",
    "unuse": "",
    "show": "",
}


def read_options(arguments: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """A program's options: key, dashes stripped, to its values; positional arguments under "".

    `--key=value`, `-k value` and `--key value` give a value, `--flag` none. A word that follows an option and does not
    begin with a dash (or is a negative number) is taken for its value: which options are flags only the program knows.
    """
    options: dict[str, list[str]] = {}
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if word == "--":
            options.setdefault("", []).extend(arguments[position:])
            break
        key = word.lstrip("-")
        if not word.startswith("-") or not key or _NUMBER.match(word):
            options.setdefault("", []).append(word)
            continue
        key, equals, value = key.partition("=")
        values = options.setdefault(key, [])
        if equals:
            values.append(value)
        elif position < len(arguments) and _is_value(arguments[position]):
            values.append(arguments[position])
            position += 1
    return {key: tuple(values) for key, values in options.items()}


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _NUMBER.match(word) is not None
