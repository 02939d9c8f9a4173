# SPDX-License-Identifier: Apache-2.0
"""Reader of the program that a command starts, behind launchers, wrappers, containers and interpreters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from posixpath import basename
from typing import NamedTuple

from reprise.matcher.submission import interpreters
from reprise.matcher.submission.engines import ENGINES, Input, file_in_code, run_by
from reprise.matcher.submission.launchers import LAUNCHERS, Launcher
from reprise.matcher.submission.option_tables import SRUN
from reprise.matcher.submission.program_lists import listed_commands
from reprise.matcher.submission.runners import COMMANDS, after_options, in_runner
from reprise.matcher.submission.shell_syntax import is_assignment
from reprise.matcher.submission.size_options import positive
from reprise.matcher.submission.slurm_options import parse_options
from reprise.matcher.submission.submitted import TEXT_LIMIT
from reprise.matcher.submission.unnamed_wrappers import quoted_command, wrapped
from reprise.matcher.submission.utilities import PREPARATION
from reprise.matcher.submission.work_limit import Work
from reprise.matcher.submission.wrappers import REPEATERS, RUNNERS, WRAPPERS

_NAME = re.compile(r"[\w.+](?:[\w.+@:,%~#= -]*[\w.+])?\Z")
_UNSEEN_NAME = re.compile(r"[$`(){}<>*?\[\]]|\A\.\w+\Z")
_SPACED = re.compile(r"/|\.\w{1,3}\Z")  # a name with blanks that does not match this is text, not a path
_LETTER = re.compile(r"[^\W\d_]")
_ASKS = frozenset({"--version", "-version", "-V", "--help", "-help", "-h"})
"""Options with which a command only prints information about itself, if no other argument follows."""
_UNKNOWN = re.compile(r"\$(?:(?P<name>\w++)|\{(?P<braced>\w++)[^{}]*+\}|\(.*\))\Z|`.*`\Z", re.DOTALL)
_UNKNOWN_LIMIT = 8
_BUILDS_ENVIRONMENT = frozenset({"install", "create", "update"})
"""Verbs with which `conda` and similar commands may be the job's work rather than its preparation."""
_GLANCES = re.compile(
    r"\s*+(?:(?:import|from)\s[^;\n]*+)(?:[;\n]\s*+(?:(?:import|from|print|assert)\b[^;\n]*+|\w++ ?=[^;\n]*+)?)*+\Z"
    r"|\s*+print\b[^;\n]*+\Z"
)
_FIRST_LINE = 128  # maximum number of characters that are searched for `#!/usr/bin/env bash`
# An unknown variable may precede a program. The variable's name suggests whether the variable contains options of the
# launcher or wrapper, or a program.
_OPTIONS_NAME = re.compile(r"ARG|OPT|FLAG|PARAM|BIND|PIN|AFFINITY|MCA|HOST|PLACE|WRAP|PROF", re.IGNORECASE)
_PROGRAM_NAME = re.compile(r"(?:EXE|BIN|PROG|PROGRAM|APP|CMD|COMMAND|CODE|SOLVER)(?P<last>[0-9]*\Z)?", re.IGNORECASE)
_LAUNCHER_NAME = re.compile(r"(?:\w*_)?(MPIRUN|MPIEXEC|SRUN)(?:_(?:BIN|CMD|COMMAND|EXE))?\Z", re.IGNORECASE)
_VERSIONED = re.compile(
    r"(nextflow|snakemake|matlab|octave|julia|stata|Rscript|cromwell)[-_.]?[vR]?[0-9][\w.-]*\Z|(matlab)[-_]\w+\Z"
)
_SITE_LAUNCHER = re.compile(r"(?:\w+[-_])?(mpirun|mpiexec|srun|Mpirun)\Z")  # such as `site-mpirun`, a site's launcher
_DATA = re.compile(
    r".*\.(?:txt|csv|tsv|xml|ya?ml|json|nml|fa|fasta|fastq|fq|gz|bam|sam|vcf|bed|biom|h5|hdf5|nc|log|inp|cfg|conf|ini|toml|pth|"
    r"npy|npz|pdb|gro|top|mdp|tpr|pkl|png|pdf|md|ext3(?::r[ow])?)\Z"
)
# Suffixes of executable files; a path with another suffix (`run.in`) is more likely a program's input.
_RUNNABLE = re.compile(r"(?:[^.]|\.[0-9])*(?:\.(?:exe|x|out|bin|py|sh|bash|jl|R|pl|mpi|gpu|cpu|sif|[0-9]*))?\Z")


class Invocation(NamedTuple):
    """The program that a command starts.

    `path` is "" if the script does not show which program it is. `tasks` is the number of tasks that the launcher
    starts, or None if there is no launcher or no number. `code` is the code that a shell runs, from its command line or
    from a file that the script has written. `is_inside` is True if a launcher, wrapper or interpreter runs the program.
    """

    path: str
    arguments: tuple[str, ...] = ()
    launcher: str = ""
    tasks: int | None = None
    code: str = ""
    is_inside: bool = False


class _Step(NamedTuple):
    """A command without its outermost layer (a launcher, wrapper or interpreter); `argv` is the rest.

    An empty `argv` means that a shell runs `code`, that the program is unknown, or that no program is run
    (`runs_nothing`). `is_module` is True if `argv` begins with the name of a Python module. `is_glance` is True if the
    command is a line of code that only imports or prints something.
    """

    argv: list[str]
    launcher: str = ""
    tasks: int | None = None
    code: str = ""
    runs_nothing: bool = False
    is_module: bool = False
    is_glance: bool = False


def resolve(argv: list[str], work: Work, given: Input, files: Mapping[str, str]) -> Invocation | None:
    """Return the program that a command starts, behind launchers, wrappers, workflow engines and interpreters.

    Returns None if the command does not start anything that may be the job's program. `files` maps the base names of
    the files that the script has written to their text.
    """
    launcher, tasks, given_words = "", None, argv
    while argv:
        work.spend(2 + len(argv) // 8)
        step = _step(argv, given, files)
        if not step:
            found = _invocation(argv, launcher, tasks, files)
            return found and found._replace(is_inside=argv is not given_words)
        if step.runs_nothing or (step.is_glance and not launcher):
            return None
        argv, launcher, tasks = step.argv, step.launcher or launcher, step.tasks or tasks
        if not argv:
            return Invocation("", (), launcher, tasks, step.code)
        if step.is_module and argv[0] in PREPARATION:
            return Invocation(argv[0], tuple(argv[1:]), launcher, tasks, is_inside=True)  # `python -m ml`
    return None


def _step(argv: list[str], given: Input, files: Mapping[str, str]) -> _Step | None:
    """Remove a command's outermost launcher, wrapper or interpreter; return None if its first word is the program."""
    asks = len(argv) == 2 and argv[1] in _ASKS
    assigns = argv[1:] and argv[1].startswith(("=", "+="))  # `A = 1`, written by mistake
    if not argv[0] or not argv[0].isprintable() or asks or assigns:
        return _Step([], runs_nothing=True)
    name = _name(argv)
    if name in LAUNCHERS:
        called = LAUNCHERS[name].called
        if listed := listed_commands(called, argv, files):
            return _Step([], called, code=listed)
        told, rest = _after_srun(argv) if called == "srun" else _after_launcher(argv, LAUNCHERS[name])
        return _Step(rest, called, told, runs_nothing=not rest)
    if name in RUNNERS and (ran := in_runner(argv, RUNNERS[name])) is not None:
        return _Step(ran.argv, runs_nothing=ran.runs_nothing)
    if name in WRAPPERS:
        rest = _after_wrapper(argv, *WRAPPERS[name])
        if name in REPEATERS:
            return _repeated(rest)
        return _Step(rest, runs_nothing=not rest)
    if argv[1:] and _unknown(argv[0]) and _name(argv[1:]) in LAUNCHERS:
        return _Step(argv[1:])  # `$TIMER mpirun ...`
    if name in ENGINES:
        runs = run_by(name, argv, given)
        return None if runs == argv else _Step(runs or [], runs_nothing=runs is None)
    interpreter = "python" if interpreters.PYTHON.match(name) else name
    if interpreter in interpreters.INTERPRETERS:
        return _interpreted(interpreter, argv, given)
    code = quoted_command(argv)
    inside = [] if code else wrapped(argv)
    return _Step(inside, code=code) if code or inside else None


def _invocation(argv: list[str], launcher: str, tasks: int | None, files: Mapping[str, str]) -> Invocation | None:
    """Return the program that the first word names; None if that word cannot be a program.

    The program is unknown if its file's name is unknown, but not if only the directory is unknown.
    """
    path = argv[0]
    name = basename(path)
    if _DATA.match(name[-TEXT_LIMIT:]):  # `srun $EXE in.nml`: `in.nml` is the input, not the program
        return Invocation("", (), launcher, tasks) if launcher else None
    is_bare = name == path or path.startswith(("/bin/", "/usr/bin/"))
    if not name or (name in PREPARATION and is_bare and _BUILDS_ENVIRONMENT.isdisjoint(argv[1:4])):
        return None
    code = files.get(name, "")
    code = code if _is_shell_script(name, code) else ""
    if _UNSEEN_NAME.search(name):
        return Invocation("", tuple(argv[1:]) if code else (), launcher, tasks, code)
    if not _NAME.match(name) or not _LETTER.search(name) or (" " in name and not _SPACED.search(path)):
        return None  # not a command, but a piece of text that the parser misread
    arguments = argv[1 : argv.index(":")] if ":" in argv else argv[1:]  # of `prog : -n 2 other`, only `prog` counts
    return Invocation(path, tuple(arguments), launcher, tasks, code)


def _is_shell_script(name: str, text: str) -> bool:
    """Return whether a file is a shell script, judged by its `#!` line or, without such a line, by its name."""
    first = text.lstrip()[:_FIRST_LINE].partition("\n")[0]
    if first.startswith("#!"):
        return any(basename(word) in interpreters.SHELLS for word in first[2:].split()[:2])
    return "." not in name or name.endswith(("sh", "slurm"))


def _repeated(argv: list[str]) -> _Step:
    """Return the command that `parallel` or `xargs` repeats, which may be a single word that contains shell code."""
    if not argv or argv[0].startswith(":::"):
        return _Step([], runs_nothing=False)
    if " " in argv[0].strip() or (argv[1:2] and argv[1].startswith(":::")):
        return _Step([], code=argv[0])
    return _Step(argv)


def _unknown(word: str) -> re.Match[str] | None:
    """Return the match if a word is only an unknown variable or a substitution; otherwise None."""
    return _UNKNOWN.match(word) if word[:1] in ("$", "`") and len(word) <= TEXT_LIMIT else None


def _name(argv: Sequence[str]) -> str:
    """Return the command's name; for an unknown variable such as `$MPIRUN`, the launcher that the name suggests."""
    name = basename(argv[0])
    if name in LAUNCHERS:
        return name
    unknown = _unknown(argv[0])
    if versioned := _VERSIONED.match(name):
        return versioned.group(versioned.lastindex or 0)
    says = _LAUNCHER_NAME.match(unknown["name"] or unknown["braced"] or "") if unknown else _SITE_LAUNCHER.match(name)
    return says.group(1).lower() if says else name


def _interpreted(interpreter: str, argv: list[str], given: Input) -> _Step:
    """Return what an interpreter runs, which is a script or shell code; return an empty step if that is unknown."""
    code, rest = _after_interpreter(interpreter, argv, interpreters.INTERPRETERS[interpreter])
    is_module = interpreter == "python" and "-m" in argv[: len(argv) - len(rest)]
    if interpreter == "python" and rest and rest[0] in interpreters.PYTHON_RUNNERS:  # `python -m mpi4py script.py`
        code, rest = _after_interpreter(rest[0], rest, interpreters.PYTHON_RUNNERS[rest[0]])
    if not rest and not code:
        code, rest = given.text, [given.file] if given.file and not given.text else []
    if rest:
        return _Step(rest, is_module=is_module)
    if interpreter in interpreters.SHELLS:
        return _Step([], code=code)
    file = file_in_code(code)
    return _Step([file] if file else [], is_glance=_GLANCES.match(code[:TEXT_LIMIT]) is not None)


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
    """Return whether the first word is an unknown variable or substitution that probably contains options.

    The first word is in a position where an option or a program may occur. It is assumed to contain options if the
    variable's name suggests options, or if the next word seems to be a program.
    """
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
    known = file in COMMANDS or interpreters.PYTHON.match(file)
    return bool(known or ("/" in words[1] and _RUNNABLE.match(file)))


def _after_wrapper(argv: Sequence[str], own_words: int, with_value: frozenset[str]) -> list[str]:
    if basename(argv[0]) == "command" and argv[1:2] in (["-v"], ["-V"]):
        return []
    position = after_options(argv, with_value) + own_words
    if own_words and argv[position : position + 1] == ["--"]:
        position += 1
    while position < len(argv) and (is_assignment(argv[position]) or _hides_options(argv[position : position + 2])):
        position += 1
    return list(argv[position:])


def _after_interpreter(name: str, argv: list[str], with_value: frozenset[str]) -> tuple[str, list[str]]:
    """Return (code on the command line, script and its arguments); at least one of the two is empty."""
    position = 1
    while position < len(argv) and argv[position][:1] in ("-", "+") and len(argv[position]) > 1:
        word = argv[position]
        if word == "--":
            position += 1
            break
        if word == interpreters.PROGRAM_OPTIONS.get(name):
            return "", argv[position + 1 :]
        is_shells = name in interpreters.SHELLS and word[0] == "-" and word[1] != "-"
        if is_shells and "c" in word[1:]:
            return "".join(argv[position + 1 : position + 2]), []
        code_option = interpreters.CODE_OPTIONS.get(name)
        if word == code_option:
            return " ".join(code for option, code in pairwise(argv) if option == code_option), []
        if is_shells and word == "-s":
            return "", []
        position += 2 if word in with_value else 1
    if argv[position : position + 1] == ["-"]:  # the script is read from standard input
        return "", []
    return "", argv[position:]
