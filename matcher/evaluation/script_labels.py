# SPDX-License-Identifier: Apache-2.0
"""Labels that show which scripts run the same application, computed without the parser under evaluation.

Two scripts in one project are variants of one application if their lines, without comments, name the same program files
and the same known codes. docs/reference/evaluation-method.md explains the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from posixpath import basename

from reprise.matcher.evaluation.community_codes import codes_in
from reprise.matcher.evaluation.script_folder import FoundScript
from reprise.matcher.submission.generic_names import is_generic

COPIED = 0.5
"""One script counts as a copy of another if at least this share of the shorter script's lines is in both scripts."""

_BREAKS = re.compile(r"[\s;&|()<>\"'`=,\[\]]+")
_CONTINUED = re.compile(r"\\\n")
_ENDS = re.compile(r"[;&|]+|\s:\s")
_WRITTEN = re.compile(r"[0-9&]*>+&?\s*[^\s;&|()<>]+")
_FILE = re.compile(
    r"[\w+-][\w.+-]*\.(?:py|R|r|Rmd|m|jl|pl|rb|lua|java|jar|js|exe|x|nf|smk|ipynb|do|sas|gms|sh|bash|f90|cu|cpp)\Z"
)
_PLAIN = re.compile(r"[\w+-]+(?:\.out)?\Z")
_BUILT = re.compile(r"\./|.*/(?:bin|build|exe)/")
_ENGINE = re.compile(r"i?python[0-9.]*|torchrun|matlab")
_MODULE_OPTIONS = {"i": ("-m",), "p": ("-m",), "t": ("-m",), "m": ("-r", "-batch")}
_WORKFLOW_OPTIONS = {"nextflow": ("run",), "snakemake": ("-s", "--snakefile"), "jupyter": ()}
"""Workflow and notebook engines, with the options or subcommands after which the file to run is given."""
_SHELLS = (".sh", ".bash")
_MODULE = re.compile(r"[A-Za-z_][\w.]*\Z")
_NO_MODULE = {
    "pip",
    "venv",
    "virtualenv",
    "torch.distributed.launch",
    "torch.distributed.run",
    "mpi4py.futures",
    "mpi4py.run",
}
_STARTING = re.compile(
    r"(?:ba|c|k|z|da|tc)?sh|cat|rm|cp|mv|ls|pip3?|i?python[0-9.]*|perl|ruby|R|Rscript|julia|java|matlab|time|env|date|echo"
    r"|mpi(?:run|exec)\S*|orterun|srun|spark-submit|conda|mamba|micromamba|nvidia-smi|hostname|singularity|apptainer|activate|venv"
    r"|(?:shell|conda|bashrc|lmod|modules?|setup|setvars|env\w*)\.(?:ba)?sh|nvcc|g?cc|make|cmake|git|awk|sed|grep",
)
"""Commands that start or prepare a job's program, and therefore are not the program."""
_ENVIRONMENT = re.compile(
    r"^\s*(?:source|\.|module|ml|conda|export|cd|echo|mkdir|cp|mv|rm)\s|/(?:etc|profile\.d|activate)\b"
)
_LEAST_LINE = 12


@dataclass(frozen=True)
class Label:
    """Names of the program files and known codes in a script, which identify its application within the project."""

    files: frozenset[str]
    codes: frozenset[str]

    @property
    def is_known(self) -> bool:
        """Whether the script names a program file or a known code."""
        return bool(self.files or self.codes)

    @property
    def is_generic(self) -> bool:
        """Whether the script names only program files with generic names, which do not identify the application."""
        return bool(self.files) and not self.codes and all(is_generic(name) for name in self.files)


class LabelledScript:
    """A batch script with its label."""

    def __init__(self, script: FoundScript) -> None:
        self.script = script
        lines = [line for line in script.text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        running = "\n".join(line for line in lines if not _ENVIRONMENT.search(line))
        commands = [
            [word for word in _BREAKS.split(_WRITTEN.sub(" ", command)) if word]
            for line in _CONTINUED.sub(" ", running).splitlines()
            for command in _ENDS.split(line)
        ]
        files = frozenset(name for words in commands for name in _files_in(words))
        self.label = Label(files, codes_in([word for words in commands for word in words]))
        self._lines = lines

    @property
    def application(self) -> str:
        """Name of the script's application; scripts of different applications have different names."""
        return "\n".join([self.script.project, *sorted(self.label.files), "", *sorted(self.label.codes)])

    @cached_property
    def lines(self) -> frozenset[str]:
        """The script's lines, with blanks and digits removed, that are long enough to be characteristic."""
        squeezed = (re.sub(r"[\s\d]+", "", line) for line in self._lines)
        return frozenset(line for line in squeezed if len(line) >= _LEAST_LINE)


def _files_in(words: Sequence[str]) -> Iterator[str]:
    """Yield the program files of one command.

    Only the first program file counts, with two exceptions. After a shell script, which may start other programs,
    further program files count. After a program whose name has no suffix, program files with a suffix count.
    """
    engine, workflow, started = "", "", False
    for before, word in pairwise(["", *words]):
        name = basename(word)
        if name in _WORKFLOW_OPTIONS:
            workflow = name
        elif workflow and before in _WORKFLOW_OPTIONS[workflow] and name[:1] not in ("-", "$"):
            yield name
            return
        elif _ENGINE.fullmatch(name):
            engine = name
        elif (program := _file(word)) and not (started and "." not in program):
            yield program
            if "." in program and not program.endswith(_SHELLS):
                return
            started = "." not in program
        elif engine and before in _MODULE_OPTIONS[engine[0]] and _MODULE.match(word) and word not in _NO_MODULE:
            yield word
            return
    if workflow:
        yield workflow


@lru_cache(maxsize=65_536)
def _file(word: str) -> str:
    """Return the name of the program file that a word refers to, or "" if the word does not refer to one."""
    name = basename(word)
    is_program = _FILE.match(name) or name == "a.out" or (_BUILT.match(word) and _PLAIN.match(name))
    return name if is_program and not _STARTING.fullmatch(name) else ""


def may_be_the_same(one: LabelledScript, other: LabelledScript) -> bool:
    """Return whether two scripts with different labels may run the same application.

    If so, a match between the jobs of two owners counts neither as right nor as wrong.

    Scripts may run the same application if they name the same known code, if they share a program file in projects of
    the same name, or if one script is a copy of the other.
    """
    if one.label.codes & other.label.codes:
        return True
    if _project(one) == _project(other) and one.label.files & other.label.files:
        return True
    both = len(one.lines & other.lines)
    return both >= COPIED * max(1, min(len(one.lines), len(other.lines)))


def _project(one: LabelledScript) -> str:
    return one.script.project.partition("/")[2].lower()
