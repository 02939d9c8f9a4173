# SPDX-License-Identifier: Apache-2.0
"""The program that a job runs, out of the commands of its script.

The program is the first one started through a launcher that is not a mere utility (`srun hostname`). Without any: the
first command that is neither a shell builtin, nor prepares the job, nor is a utility; then the first launched utility;
then the first utility.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice, takewhile
from posixpath import basename

from matcher.submission import launchers
from matcher.submission.options import SRUN, parse_options
from matcher.submission.shell import Command, Word, as_written, commands
from matcher.submission.variables import Variables, is_assignment

_NUMBER = re.compile(r"-\.?[0-9]")
_PYTHON = re.compile(r"(i?python|pypy)[0-9.]*\Z")
COMMAND_LIMIT = 4_096
"""Commands of a script that are looked at; it bounds what a hostile script costs (about 15 us each)."""
WORD_LIMIT = 1_024
"""Words of a command that are looked at. Looking through keywords, assignments and launchers costs their square."""
_NESTING = 3
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})


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


@dataclass
class Reading:
    """What a script tells: its program, and the modules loaded before that."""

    program: Program = field(default_factory=Program)
    modules: list[str] = field(default_factory=list)


def read_script(text: str, variables: Variables) -> Reading:
    """Read a shell script up to its program."""
    return _Reader(variables).read(text, _NESTING)


def read_command(argv: Sequence[str]) -> Program:
    """The program of one command, such as what srun and salloc are given; empty where there is none."""
    return _resolve(list(argv), Variables({}), _NESTING) or Program()


class _Reader:
    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.reading = Reading()
        self.functions: dict[str, list[Command]] = {}
        self._called: set[str] = set()
        self._best: Program | None = None
        self._left = COMMAND_LIMIT

    def read(self, text: str, nesting: int) -> Reading:
        self._read(self._outside_functions(text), nesting)
        for name, body in self.functions.items():
            if name not in self._called:  # perhaps it is, where that is not seen: by `trap`, or as "$name"
                self._read(body, 0)
        self.reading.program = self._best or Program()
        return self.reading

    def _read(self, commands: Iterable[Command], nesting: int) -> None:
        for command in commands:
            found = self._best and self._best.rank is Rank.LAUNCHED
            if found or not self._left or not self.variables.spend(command.words):
                return
            self._left -= 1
            argv = self._argv(command)
            if argv:
                self._run(argv, nesting)

    def _outside_functions(self, text: str) -> Iterator[Command]:
        """The commands of a text but for those of its functions, which are put aside until they are called."""
        body: list[Command] | None = None
        depth = 0
        for command in islice(commands(text), COMMAND_LIMIT):
            first = [as_written(word) for word in islice(command.words, 3)]
            if body is None:
                names = first[:1] if command.defines_function else first[1:2] if first[:1] == ["function"] else []
                if not names:
                    yield command
                    continue
                body = self.functions[names[0]] = []
                depth = first.count("{")  # `function name { command`
                body += [Command(command.words[first.index("{") + 1 :])] if depth else []
            else:
                keywords = list(takewhile(launchers.KEYWORDS.__contains__, first))
                depth += keywords.count("{") - first[:1].count("}")
                body.append(command)
                if depth <= 0:
                    body = None

    def _run(self, argv: list[str], nesting: int) -> None:
        if argv[0] in self.functions:
            self._called.add(argv[0])
            if nesting:
                with self.variables.called_with(argv[1:]):
                    self._read(self.functions[argv[0]], nesting - 1)
        elif argv[0] == "eval":
            if nesting and not argv[1].startswith(("$", "`")):  # else the program's name is not known either
                self._read(self._outside_functions(" ".join(argv[1:])), nesting - 1)
        else:
            program = _resolve(argv, self.variables, nesting)
            if program and (self._best is None or program.rank < self._best.rank):
                self._best = program

    def _argv(self, command: Command) -> list[str]:
        """The command's words after expansion; empty for one that starts no program. Takes note of what it sets."""
        words = self._after_keywords(command.words[:WORD_LIMIT])
        while words and self.variables.assign(words[0]):
            words = words[1:]
        argv = self.variables.expand_all(words)
        name = basename(argv[0]) if argv else ""
        if name in _DECLARATIONS:
            for word in words[1:]:
                self.variables.assign(word)
        elif name == "unset":
            for variable in argv[1:]:
                self.variables.unset(variable)
        elif name == "shift":
            self.variables.shift(positive("".join(argv[1:2])) or 1)
        elif name in ("module", "ml"):
            self._module(name, argv[1:])
        if argv[1:] and argv[0] == "eval":
            return argv
        return [] if name in launchers.PREPARATION else argv

    def _after_keywords(self, words: Sequence[Word]) -> Sequence[Word]:
        """The words of the command that follows `if`, `do` and the like. A loop gives its variable the first value."""
        while words and (first := as_written(words[0])) in launchers.KEYWORDS:
            if first in ("for", "select"):
                values = self.variables.expand_all(words[3:4])
                if values:
                    self.variables.set(as_written(words[1]), values[0])
                return ()
            if first == "case":
                return ()
            words = words[1:]
        return words

    def _module(self, command: str, arguments: Sequence[str]) -> None:
        """`module load a b`, `ml a b`: Environment Modules and Lmod."""
        names = [argument for argument in arguments if not argument.startswith("-")]
        verb = "load"
        if command == "module" or (names and names[0] in _MODULE_VERBS):
            verb, names = (_MODULE_VERBS.get(names[0], ""), names[1:]) if names else ("", [])
        modules = self.reading.modules
        if verb == "purge":
            modules.clear()
        if verb in ("unload", "swap"):
            for gone in names[:1] if verb == "swap" and len(names) > 1 else names:
                modules[:] = [module for module in modules if module != gone and module.split("/")[0] != gone]
        if verb in ("load", "swap"):
            modules += [name for name in names[-1:] if verb == "swap"] or [n for n in names if n not in modules]


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


def _resolve(argv: list[str], variables: Variables, nesting: int) -> Program | None:
    """Look through launchers, wrappers and interpreters at the program that a command starts."""
    launcher, tasks = "", None
    while argv:
        name = basename(argv[0])
        if name in launchers.LAUNCHERS:
            launcher = launchers.LAUNCHERS[name]
            told, argv = _after_srun(argv) if launcher == "srun" else _after_mpirun(argv)
            tasks = told or tasks
        elif name in launchers.CONTAINERS and (inside := _in_container(argv)):
            argv = inside
        elif name in launchers.WRAPPERS:
            argv = _after_wrapper(argv, *launchers.WRAPPERS[name])
        else:
            break
    if not argv or not argv[0]:
        return None
    return _program(argv, launcher, tasks, variables, nesting)


def _program(argv: list[str], launcher: str, tasks: int | None, variables: Variables, nesting: int) -> Program | None:
    interpreter = "python" if _PYTHON.match(basename(argv[0])) else basename(argv[0])
    if interpreter in launchers.INTERPRETERS:
        code, argv = _after_interpreter(interpreter, argv)
        if code and nesting:
            inner = _Reader(variables).read(code, nesting - 1).program
            if inner.path:
                started = launcher or inner.launcher
                return Program(inner.path, inner.arguments, started, tasks or inner.tasks, _rank(inner.path, started))
    arguments = argv[1 : argv.index(":")] if ":" in argv else argv[1:]  # `prog : -n 2 other`: the first one
    return Program(argv[0], tuple(arguments), launcher, tasks, _rank(argv[0], launcher))


def _rank(path: str, launcher: str) -> Rank:
    if basename(path) in launchers.UTILITIES:
        return Rank.LAUNCHED_UTILITY if launcher else Rank.UTILITY
    return Rank.LAUNCHED if launcher else Rank.DIRECT


def _after_srun(argv: Sequence[str]) -> tuple[int | None, list[str]]:
    parsed = parse_options(SRUN, argv[1:])
    return positive(parsed.values.get("ntasks", "")), parsed.rest


def _after_mpirun(argv: Sequence[str]) -> tuple[int | None, list[str]]:
    tasks = None
    position = 1
    while position < len(argv) and argv[position].startswith("-") and len(argv[position]) > 1:
        name, equals, value = argv[position].lstrip("-").partition("=")
        if argv[position] == "--":
            position += 1
            break
        takes = 0 if equals else launchers.MPI_OPTIONS.get(name, 0)
        if name in launchers.MPI_TASKS:
            tasks = positive(value if equals else "".join(argv[position + 1 : position + 2]))
        position += 1 + takes
    return tasks, list(argv[position:])


def _in_container(argv: Sequence[str]) -> list[str]:
    """What runs in the container: after `exec` and the image, or after `run` the image itself; else nothing."""
    verb = _after_options(argv, launchers.CONTAINER_OPTIONS)
    if argv[verb : verb + 1] not in (["exec"], ["run"]):
        return []
    image = verb + _after_options(argv[verb:], launchers.CONTAINER_OPTIONS)
    return list(argv[image + 1 :] if argv[verb] == "exec" else argv[image:])


def _after_wrapper(argv: Sequence[str], with_value: frozenset[str], own_words: int) -> list[str]:
    position = _after_options(argv, with_value) + own_words
    if own_words and argv[position : position + 1] == ["--"]:
        position += 1
    while position < len(argv) and is_assignment(argv[position]):
        position += 1
    return list(argv[position:])


def _after_interpreter(name: str, argv: list[str]) -> tuple[str, list[str]]:
    """(code on the command line, program and its arguments); the interpreter itself where it is given no script."""
    with_value = launchers.INTERPRETERS[name]
    position = 1
    while position < len(argv) and argv[position][:1] in ("-", "+") and len(argv[position]) > 1:
        word = argv[position]
        if word == "--":
            position += 1
            break
        if word == launchers.PROGRAM_OPTIONS.get(name):
            return "", argv[position + 1 :] or argv
        if name in launchers.SHELLS and word[0] == "-" and word[1] != "-" and "c" in word[1:]:
            return "".join(argv[position + 1 : position + 2]), argv[:1]
        if word == launchers.CODE_OPTIONS.get(name):
            return "", argv[:1] + argv[position + 2 :]
        position += 2 if word in with_value else 1
    return "", argv[position:] or argv[:1]


def _after_options(argv: Sequence[str], with_value: frozenset[str]) -> int:
    """The position of the first word that is no option."""
    position = 1
    while position < len(argv) and argv[position].startswith("-") and len(argv[position]) > 1:
        if argv[position] == "--":
            return position + 1
        position += 2 if argv[position] in with_value else 1
    return position


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


def positive(text: str) -> int | None:
    """A positive whole number of at most nine digits, or None."""
    found = re.fullmatch(r"\s*\+?([0-9]{1,9})", text)
    return (int(found.group(1)) or None) if found else None
