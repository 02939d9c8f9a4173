# SPDX-License-Identifier: Apache-2.0
"""What a command starts, looked for behind launchers, wrappers, containers and interpreters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import basename
from typing import NamedTuple

from reprise.matcher.submission import interpreters
from reprise.matcher.submission.launchers import LAUNCHERS, Launcher
from reprise.matcher.submission.shell_syntax import is_assignment
from reprise.matcher.submission.size_options import positive
from reprise.matcher.submission.slurm_options import SRUN, parse_options
from reprise.matcher.submission.submitted import TEXT_LIMIT
from reprise.matcher.submission.utilities import PREPARATION
from reprise.matcher.submission.work_limit import Work
from reprise.matcher.submission.wrappers import RUNNERS, WRAPPERS, Runner

_COMMANDS = frozenset(LAUNCHERS) | frozenset(WRAPPERS) | frozenset(RUNNERS) | frozenset(interpreters.INTERPRETERS)
_UNKNOWN = re.compile(r"\$(?:(?P<name>\w++)|\{(?P<braced>\w++)[^{}]*+\}|\(.*\))\Z|`.*`\Z", re.DOTALL)
_UNKNOWN_LIMIT = 8
# What an unknown variable is by its name, where it stands before a program: options of the launcher or wrapper, or
# itself a program.
_OPTIONS_NAME = re.compile(r"ARG|OPT|FLAG|PARAM|BIND|PIN|AFFINITY|MCA|HOST|PLACE|WRAP|PROF", re.IGNORECASE)
_PROGRAM_NAME = re.compile(r"(?:EXE|BIN|PROG|PROGRAM|APP|CMD|COMMAND|CODE|SOLVER)(?P<last>[0-9]*\Z)?", re.IGNORECASE)
_LAUNCHER_NAME = re.compile(r"(?:\w*_)?(MPIRUN|MPIEXEC|SRUN)(?:_(?:BIN|CMD|COMMAND|EXE))?\Z", re.IGNORECASE)
# Endings of files that can be run; a path with another one (`run.in`) is rather a program's input.
_RUNNABLE = re.compile(r"(?:[^.]|\.[0-9])*(?:\.(?:exe|x|out|bin|py|sh|bash|jl|R|pl|mpi|gpu|cpu|sif|[0-9]*))?\Z")


class Invocation(NamedTuple):
    """What a command starts. `tasks` is what the launcher was told, None where it was not; `code` is what a shell is
    given to run, "" where the command starts none or gives it a file."""

    path: str
    arguments: tuple[str, ...]
    launcher: str = ""
    tasks: int | None = None
    code: str = ""


def resolve(argv: list[str], work: Work, stdin: str) -> Invocation | None:
    """Look through launchers, wrappers and interpreters at what a command starts; None where it starts nothing."""
    launcher, tasks = "", None
    while argv:
        work.spend(2 + len(argv) // 8)
        name = _name(argv)
        if name in LAUNCHERS:
            launcher = LAUNCHERS[name].called
            told, argv = _after_srun(argv) if launcher == "srun" else _after_launcher(argv, LAUNCHERS[name])
            tasks = told or tasks
        elif name in RUNNERS and (inside := _in_runner(argv, RUNNERS[name])):
            argv = inside
        elif name in WRAPPERS:
            argv = _after_wrapper(argv, *WRAPPERS[name])
        elif argv[1:] and _unknown(argv[0]) and _name(argv[1:]) in LAUNCHERS:
            argv = argv[1:]  # `$TIMER mpirun ...`
        else:
            break
    if not argv or not argv[0] or not argv[0].isprintable() or (not launcher and argv[0] in PREPARATION):
        return None
    code, argv = _interpreted(argv, stdin)
    arguments = argv[1 : argv.index(":")] if ":" in argv else argv[1:]  # `prog : -n 2 other`: the first one
    return Invocation(argv[0], tuple(arguments), launcher, tasks, code)


def _unknown(word: str) -> re.Match[str] | None:
    """A variable or a substitution that is not known, and is the whole word."""
    return _UNKNOWN.match(word) if word[:1] in ("$", "`") and len(word) <= TEXT_LIMIT else None


def _name(argv: Sequence[str]) -> str:
    """The command's name; of `$MPIRUN`, which is not known, the launcher that it says it is."""
    unknown = _unknown(argv[0])
    says = _LAUNCHER_NAME.match(unknown["name"] or unknown["braced"] or "") if unknown else None
    return says.group(1).lower() if says else basename(argv[0])


def _interpreted(argv: list[str], stdin: str) -> tuple[str, list[str]]:
    """(code for a shell, program and its arguments) of a command that may start an interpreter."""
    interpreter = "python" if interpreters.PYTHON.match(basename(argv[0])) else basename(argv[0])
    if interpreter not in interpreters.INTERPRETERS:
        return "", argv
    code, argv = _after_interpreter(interpreter, argv, interpreters.INTERPRETERS[interpreter])
    if interpreter == "python" and argv[0] in interpreters.PYTHON_RUNNERS:  # `python -m mpi4py script.py`
        code, argv = _after_interpreter(argv[0], argv, interpreters.PYTHON_RUNNERS[argv[0]])
    if interpreter in interpreters.SHELLS and basename(argv[0]) == interpreter:
        code = code or stdin
    return code, argv


def _after_srun(argv: Sequence[str]) -> tuple[int | None, list[str]]:
    tasks, rest = None, list(argv)
    for _ in range(_UNKNOWN_LIMIT):
        parsed = parse_options(SRUN, rest[1:])
        tasks = positive(parsed.values.get("ntasks", "")) or tasks
        rest = parsed.rest
        if not _hides_options(rest):
            break
    return tasks, rest


def _after_launcher(argv: Sequence[str], launcher: Launcher) -> tuple[int | None, list[str]]:
    tasks = None
    position = 1
    while position < len(argv):
        word = argv[position]
        if word == "--":
            position += 1
            break
        if len(word) > 1 and word[0] in "-+":
            name, equals, value = word.lstrip("-+").partition("=")
            takes = 0 if equals else launcher.options.get(name, 0)
            if name in launcher.tasks:
                tasks = positive(value if equals else "".join(argv[position + 1 : position + 2]))
            elif not takes and name[:1] in launcher.tasks:
                tasks = positive(name[1:]) or tasks  # -n4
            position += 1 + takes
        elif _hides_options(argv[position : position + 2]) or is_assignment(word):  # mpirun_rsh's NAME=value
            position += 1
        else:
            break
    return tasks, list(argv[position:])


def _hides_options(words: Sequence[str]) -> bool:
    """Whether the first word, which stands where an option or a program may stand, is a variable or substitution that
    is not known and rather holds options: by its name, or because what follows it looks like a program."""
    unknown = _unknown(words[0]) if words[1:] else None
    if not unknown:
        return False
    name = unknown["name"] or unknown["braced"] or ""
    program = _PROGRAM_NAME.search(name)
    if _OPTIONS_NAME.search(name) and not (program and program["last"] is not None):
        return True
    if program or words[1].startswith("-"):
        return False
    file = basename(words[1])
    known = file in _COMMANDS or interpreters.PYTHON.match(file)
    return bool(known or ("/" in words[1] and _RUNNABLE.match(file)))


def _in_runner(argv: Sequence[str], runner: Runner) -> list[str]:
    """What `apptainer exec IMAGE` or the like runs; nothing where the verb runs nothing."""
    verb = _after_options(argv, runner.options)
    if verb >= len(argv) or argv[verb] not in runner.verbs:
        return []
    first = verb + _after_options(argv[verb:], runner.options)
    inside = list(argv[first + runner.verbs[argv[verb]] :])
    if argv[verb] in runner.images and (not inside or inside[0].startswith("-")):
        return list(argv[first:])
    return inside


def _after_wrapper(argv: Sequence[str], own_words: int, with_value: frozenset[str]) -> list[str]:
    if basename(argv[0]) == "command" and argv[1:2] in (["-v"], ["-V"]):
        return []
    position = _after_options(argv, with_value) + own_words
    if own_words and argv[position : position + 1] == ["--"]:
        position += 1
    while position < len(argv) and (is_assignment(argv[position]) or _hides_options(argv[position : position + 2])):
        position += 1
    return list(argv[position:])


def _after_interpreter(name: str, argv: list[str], with_value: frozenset[str]) -> tuple[str, list[str]]:
    """(code on the command line, program and its arguments); the interpreter itself where it is given no script."""
    position = 1
    while position < len(argv) and argv[position][:1] in ("-", "+") and len(argv[position]) > 1:
        word = argv[position]
        if word == "--":
            position += 1
            break
        if word == interpreters.PROGRAM_OPTIONS.get(name):
            return "", argv[position + 1 :] or argv
        if name in interpreters.SHELLS and word[0] == "-" and word[1] != "-" and "c" in word[1:]:
            return "".join(argv[position + 1 : position + 2]), argv[:1]
        if word == interpreters.CODE_OPTIONS.get(name):
            return "", argv[:1] + argv[position + 2 :]
        if name in interpreters.SHELLS and word == "-s":
            return "", argv[:1] + argv[position + 1 :]
        position += 2 if word in with_value else 1
    if argv[position : position + 1] == ["-"]:  # the script comes on standard input
        return "", argv[:1] + argv[position:]
    return "", argv[position:] or argv[:1]


def _after_options(argv: Sequence[str], with_value: frozenset[str]) -> int:
    """The position of the first word that is no option."""
    position = 1
    while position < len(argv) and argv[position].startswith("-") and len(argv[position]) > 1:
        if argv[position] == "--":
            return position + 1
        position += 2 if argv[position] in with_value else 1
    return position
