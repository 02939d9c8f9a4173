# SPDX-License-Identifier: Apache-2.0
"""What a job is to run: its script's directives, program and modules, or one command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename

from reprise.matcher.submission.command import Program
from reprise.matcher.submission.directives import read_directives
from reprise.matcher.submission.interpreters import SHELLS
from reprise.matcher.submission.program import Reading, read_command, read_script
from reprise.matcher.submission.shell_variables import Variables
from reprise.matcher.submission.sketch import sketch
from reprise.matcher.submission.slurm_options import Parsed
from reprise.matcher.submission.submitted import ARGV_LIMIT, SCRIPT_LIMIT, Submission
from reprise.matcher.submission.work_limit import Work

_SHEBANG = re.compile(r"#!\s*(\S+)(?:\s+(\S+))?")
REMEMBERED = 1024
REMEMBERED_LIMIT = 8_192
"""People submit the same script again and again, and reading it is a fifth of a decision: so many are remembered, but
for those that have more characters, or tell more, than this."""


@dataclass(frozen=True)
class Contents:
    """What a script says, whoever submits it."""

    directives: Mapping[str, str]
    program: Program
    modules: tuple[str, ...]
    sketch: str


def read_contents(submission: Submission, given: Parsed) -> Contents:
    """Read the script, or the command that srun or salloc is to run. `given` is the submitting command's own line."""
    text = submission.script.text[:SCRIPT_LIMIT] if submission.script else ""
    if submission.command in ("srun", "salloc"):
        command = given.rest if submission.command == "salloc" else ["srun", *submission.argv[1:ARGV_LIMIT]]
        return Contents({}, read_command(command), (), sketch(text))
    arguments = tuple(given.rest[1:]) if submission.command == "sbatch" else None
    directory = submission.cwd
    path: str | None = submission.script.path if submission.script else ""
    if submission.command == "batch":  # the path is a name of slurmd's
        directory, path = submission.env.get("SLURM_SUBMIT_DIR", ""), ""
    elif "wrap" in given.values:
        text, path = given.values["wrap"][:SCRIPT_LIMIT], None
    is_short = sum(map(len, (text, directory, path or "", *(arguments or ())))) <= REMEMBERED_LIMIT
    remembered = _remembered(text, directory, arguments, path) if is_short else None
    return remembered or _read(text, directory, arguments, path)


@lru_cache(maxsize=REMEMBERED)
def _remembered(text: str, directory: str, arguments: tuple[str, ...] | None, path: str | None) -> Contents | None:
    """None where variables have made long words out of a short script: that is not kept."""
    script = _read(text, directory, arguments, path)
    is_short = sum(map(len, (*script.program.arguments, *script.modules))) <= REMEMBERED_LIMIT
    return script if is_short else None


def _read(text: str, directory: str, arguments: tuple[str, ...] | None, path: str | None) -> Contents:
    """`directory` is that of the submission, "" where it is not known, as None is for `arguments`. `path` None: what
    `sbatch --wrap` was given, for a shell and without directives."""
    work = Work()
    directives = read_directives(text, work) if path is not None else {}
    interpreter = _interpreter(text)
    if interpreter and interpreter not in SHELLS and path is not None:
        reading = Reading(Program(path, arguments or ()))
    else:
        known = {"SLURM_SUBMIT_DIR": directory} if directory else {}
        reading = read_script(text, Variables(known, arguments, work))
    return Contents(directives, reading.program, tuple(reading.modules), sketch(text))


def _interpreter(text: str) -> str:
    """The program that the script's first line names, "" where it names none."""
    found = _SHEBANG.match(text)
    if not found:
        return ""
    name = basename(found.group(1))
    return basename(found.group(2) or "") if name == "env" else name
