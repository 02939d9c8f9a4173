# SPDX-License-Identifier: Apache-2.0
"""Reader of a job's directives, program and modules from its script, or from its srun or salloc command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename
from typing import NamedTuple

from reprise.matcher.submission.command import Invocation
from reprise.matcher.submission.directives import read_directives
from reprise.matcher.submission.interpreters import SHELLS
from reprise.matcher.submission.loaded_modules import Modules
from reprise.matcher.submission.mpi_signs import Signs
from reprise.matcher.submission.program import Program, programs_of
from reprise.matcher.submission.script_execution import NESTING, Started, started, started_by
from reprise.matcher.submission.shell import Expanded, Shell
from reprise.matcher.submission.shell_variables import Variables
from reprise.matcher.submission.sketch import sketch
from reprise.matcher.submission.slurm_options import Parsed
from reprise.matcher.submission.submitted import ARGV_LIMIT, SCRIPT_LIMIT, Submission
from reprise.matcher.submission.work_limit import Work

_SHEBANG = re.compile(r"#!\s*(\S+)(?:\s+(\S+))?")
_NEXTFLOW_TASK = re.compile(r"^# NEXTFLOW TASK: ([\w:.-]+)", re.MULTILINE)
"""Line that Nextflow writes into each `.command.run`, the batch script of one of its tasks."""
_HEADER = 2_048  # maximum number of characters at the start of a script that are searched for _NEXTFLOW_TASK
REMEMBERED = 1024
REMEMBERED_LIMIT = 8_192
"""Maximum number of cached scripts, and maximum characters of a cached script or of the words read from it.

Caching is worthwhile because users submit the same scripts repeatedly, and reading a script takes a fifth of a
decision's time.
"""


@dataclass(frozen=True)
class Contents:
    """Contents of a script that do not depend on the user: directives, programs, modules, sketch and MPI signs."""

    directives: Mapping[str, str]
    program: Program
    programs: tuple[str, ...]
    modules: tuple[str, ...]
    sketch: str
    mpi_signs: tuple[str, ...] = ()


class _Source(NamedTuple):
    """Input from which contents are read: the text of a script, or a single command.

    `directory` is the directory of submission, "" if unknown. `arguments` are the script's arguments, None if unknown.
    `path` is None for the value of `sbatch --wrap`, which a shell runs and which has no directives. `command` is the
    command that srun or salloc runs instead of a script; None if there is a script.
    """

    text: str
    directory: str = ""
    arguments: tuple[str, ...] | None = None
    path: str | None = None
    command: tuple[str, ...] | None = None


def read_contents(submission: Submission, given: Parsed) -> Contents:
    """Read the content of a job's script, or of its srun or salloc command; `given` are the parsed Slurm options."""
    source = _source(submission, given)
    is_short = source.command is None and _characters(source) <= REMEMBERED_LIMIT
    remembered = _remembered(source) if is_short else None
    return remembered or _read(source)


def _source(submission: Submission, given: Parsed) -> _Source:
    text = submission.script.text[:SCRIPT_LIMIT] if submission.script else ""
    if submission.command == "salloc":
        return _Source(text, command=tuple(given.rest))
    if submission.command == "srun":
        return _Source(text, command=("srun", *submission.argv[1:ARGV_LIMIT]))
    path = submission.script.path if submission.script else ""
    if submission.command == "batch":  # the script's path is that of slurmd's copy
        return _Source(text, submission.env.get("SLURM_SUBMIT_DIR", ""), path="")
    arguments = tuple(given.rest[1:]) if submission.command == "sbatch" else None
    if "wrap" in given.values:
        return _Source(given.values["wrap"][:SCRIPT_LIMIT], submission.cwd, arguments)
    return _Source(text, submission.cwd, arguments, path)


def _characters(source: _Source) -> int:
    return sum(map(len, (source.text, source.directory, source.path or "", *(source.arguments or ()))))


@lru_cache(maxsize=REMEMBERED)
def _remembered(source: _Source) -> Contents | None:
    """Return a script's contents, through a cache; None if variables expand a short script to long words.

    In that case the cache keeps only None, so that long results use no memory.
    """
    script = _read(source)
    is_short = sum(map(len, (*script.program.arguments, *script.programs, *script.modules))) <= REMEMBERED_LIMIT
    return script if is_short else None


def _read(source: _Source) -> Contents:
    work, modules, signs = Work(), Modules(), Signs()
    directives = read_directives(source.text, work) if source.path is not None else {}
    found = programs_of(_started(source, work, modules, signs), modules)
    signs.take_modules(name for name in modules.used if name not in found.modules)
    signs.take_text(source.text)
    return Contents(directives, found.main, tuple(found.names), found.modules, sketch(source.text), tuple(signs.found))


def _started(source: _Source, work: Work, modules: Modules, signs: Signs) -> Iterator[Started]:
    """Yield the commands of a shell script; for a script in another language, yield only the script itself."""
    interpreter = _interpreter(source.text)
    if interpreter and interpreter not in SHELLS and source.path is not None:
        yield Started(Invocation(source.path, source.arguments or (), is_inside=True))
        return
    if task := _NEXTFLOW_TASK.search(source.text[:_HEADER]):
        yield Started(Invocation(task.group(1), is_inside=True))
        return
    known = {"SLURM_SUBMIT_DIR": source.directory} if source.directory else {}
    shell = Shell(Variables(known, work), mpi_signs=signs)
    if source.command is None:
        yield from started(source.text, shell, modules, source.arguments)
        return
    signs.take(source.command)
    if command := started_by(Expanded(list(source.command), "", NESTING), shell, modules):
        yield command


def _interpreter(text: str) -> str:
    """Return the name of the interpreter in the script's first line (`#!`); "" if that line names none."""
    found = _SHEBANG.match(text)
    if not found:
        return ""
    name = basename(found.group(1))
    return basename(found.group(2) or "") if name == "env" else name
