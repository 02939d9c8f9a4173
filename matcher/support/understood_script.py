# SPDX-License-Identifier: Apache-2.0
"""Lookup of the lines of a batch script from which the parser took each value, for previews of decisions.

Decisions do not need the lines, so the parser does not report them. To find a value's line, beginnings of the script
are parsed until the shortest one that yields the same value as the whole script is found. This takes some ten runs of
the parser for each value, most of them cached.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from typing import Any

from reprise.database.secret_masking import masked_words
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.directives import PREFIX, read_directives
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.slurm_options import given_options
from reprise.matcher.submission.submission_parser import ENVIRONMENT
from reprise.matcher.submission.work_limit import Work

WORDS = 12
"""Maximum number of words of a line that are shown, in at most CHARACTERS characters."""
CHARACTERS = 72
COMMAND_LINE = "the command line"
DEFAULT = "Slurm's default"
OF_ONE = ("nodes", "tasks", "tasks_per_node")
"""Values for which Slurm's default is 1."""
OPTIONS = {
    "nodes": ("nodes", "ntasks"),
    "tasks": ("ntasks", "ntasks-per-node"),
    "tasks_per_node": ("ntasks-per-node", "ntasks"),
    "partition": ("partition",),
    "account": ("account",),
    "job_name": ("job-name",),
    "directory": ("chdir",),
}
"""Slurm options that determine each value, with the most direct option first."""


@dataclass(frozen=True)
class Understood:
    """A value that the parser found, and its place in the script.

    `name` is the value's name in a job's metadata. `value` is None if unknown. `line` is the line's number, from 1, and
    `text` is the beginning of the line. `source` names the origin of a value that does not come from the script.
    """

    name: str
    value: Any
    line: int | None = None
    text: str = ""
    source: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the value as a JSON object."""
        return dataclasses.asdict(self)


def understood(submission: Submission, metadata: Mapping[str, Any]) -> Sequence[Understood]:
    """Return the values that the parser found in a batch script, with their lines.

    `metadata` is the metadata in the job's decision, with secrets masked.
    """
    return list(_Reader(submission, metadata).told())


class _Reader:
    def __init__(self, submission: Submission, metadata: Mapping[str, Any]) -> None:
        self._submission = submission
        self._script = submission.script
        self._lines = list(StringIO(self._script.text)) if self._script else []  # split only at "\n", as editors do
        self._metadata = metadata
        self._given = given_options(submission).values
        self._directives = _directive_lines(self._lines)
        self._beginning = cache(self._parsed)

    def told(self) -> Iterator[Understood]:
        program, path, options = (self._metadata.get(name) for name in ("program", "path", "options"))
        whole = self._beginning(len(self._lines))
        line = self._first(lambda job: job.path == whole.path) if program and path == whole.path else None
        line = line or self._line_that_holds(str(path or ""))
        yield self._of_line("program", program or None, line)
        if path and path != program:
            yield self._of_line("path", path, line)
        if options:
            yield self._of_line("options", options, self._of_options(whole, line))
        for name in ("nodes", "tasks", "tasks_per_node", "partition", "account", "job_name", "directory"):
            value = self._metadata.get(name)
            yield self._of_option(name, value if value not in ("", None) else None, line)
        for other in self._metadata.get("programs") or ():
            if other != program:
                yield self._of_line("programs", other, self._of_program(other, whole))
        modules = self._metadata.get("modules")
        if not modules:
            yield Understood("modules", modules)
        for module in modules or ():
            yield self._of_line("modules", module, self._of_module(module, whole))

    def _parsed(self, count: int) -> JobMetadata:
        """Return the metadata that the parser finds in the first `count` lines."""
        if not self._script:
            return JobMetadata("")
        script = dataclasses.replace(self._script, text="".join(self._lines[:count]))
        return masked(parse(dataclasses.replace(self._submission, script=script), user="", submit_time=0.0))

    def _first(self, found: Callable[[JobMetadata], bool]) -> int | None:
        """Return the smallest n such that `found` accepts the metadata of the script's first n lines.

        Return None if `found` rejects the metadata of the whole script, or accepts the metadata of an empty script.
        """
        low, high = 0, len(self._lines)
        if not found(self._beginning(high)) or found(self._beginning(0)):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if found(self._beginning(middle)) else (middle, high)
        return high

    def _of_options(self, whole: JobMetadata, line: int | None) -> int | None:
        """Return the number of the line with the program's first option; `line` is the number of the program's line."""
        if line is None:
            return None
        return self._first(lambda job: job.path == whole.path and bool(job.options)) or line

    def _of_program(self, name: str, whole: JobMetadata) -> int | None:
        found = self._first(lambda job: name in job.programs) if name in whole.programs else None
        return found or self._line_that_holds(name)

    def _of_module(self, module: str, whole: JobMetadata) -> int | None:
        found = self._first(lambda job: module in job.modules) if module in whole.modules else None
        return found or self._line_that_holds(module)

    def _line_that_holds(self, text: str) -> int | None:
        """Return the number of the first line that contains the text and is not a comment; None if there is none."""
        numbered = enumerate(self._lines, 1)
        return next((n for n, line in numbered if text and text in line and not line.lstrip().startswith("#")), None)

    def _of_option(self, name: str, value: Any, program_line: int | None) -> Understood:
        variables = ENVIRONMENT["sbatch"]
        for option in OPTIONS[name] if value is not None else ():
            if option in self._given:
                return Understood(name, value, source=COMMAND_LINE)
            variable = next((one for one in variables.get(option, ()) if one in self._submission.env), None)
            if variable:
                return Understood(name, value, source=variable)
            if option in self._directives:
                return self._of_line(name, value, self._directives[option])
        if name in OF_ONE and value == 1:
            return Understood(name, value, source=DEFAULT)
        return self._of_line(name, value, program_line if name == "tasks" and value is not None else None)

    def _of_line(self, name: str, value: Any, line: int | None) -> Understood:
        return Understood(name, value, line, _shown(self._lines[line - 1]) if line else "")


def _directive_lines(lines: Sequence[str]) -> Mapping[str, int]:
    """Return, by option, the number of the last `#SBATCH` line that sets the value that takes effect."""
    whole = read_directives("".join(lines), Work())
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            if line.startswith(PREFIX):
                options = read_directives(line, Work())
                found.update({name: number for name, value in options.items() if whole.get(name) == value})
        else:
            break
    return found


def _shown(line: str) -> str:
    """Return the beginning of a line for display, with secrets masked."""
    words = masked_words(line.split())
    text = " ".join(words[:WORDS])
    cut = text[:CHARACTERS]
    return cut if len(words) <= WORDS and cut == text else f"{cut} ..."
