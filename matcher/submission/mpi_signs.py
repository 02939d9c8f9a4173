# SPDX-License-Identifier: Apache-2.0
"""Signs of the MPI that a job uses, found in the commands and in the text of its script.

JobMetadata.mpi_signs stores a sign as text that consists of the sign's kind and its value, such as `option -genv`. The
libraries of the job's main program, and the modules with which it starts, are signs too, but other fields of the
metadata contain them. The only modules in `mpi_signs` are therefore those with which another program of the job starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from posixpath import basename, dirname

from reprise.matcher.submission.launchers import LAUNCHERS
from reprise.matcher.submission.mpi_families import FAMILIES, OPEN_MPI_PLACES, PMI
from reprise.matcher.submission.option_tables import SRUN
from reprise.matcher.submission.slurm_options import parse_options

SIGNS_LIMIT = 8
"""Maximum number of signs that are kept for one job; real scripts have four or fewer in 99 of 100 cases."""
SIGN_LIMIT = 80
"""Maximum number of characters of a sign, which are printable ASCII."""
_FIRST_WORDS = 8  # maximum number of words at the start of a command that are searched for a launcher
_LAUNCH_WORDS = 48
"""Maximum number of words after a launcher that are searched for options.

It is also the maximum number of words at the start of a command that are searched for a container program.
"""
_OPTIONS = frozenset(word for family in FAMILIES for word in family.options.split())
_LAUNCHERS = frozenset(word for family in FAMILIES for word in family.launchers.split())
_PATHS = re.compile("|".join(f"(?:{family.paths})" for family in FAMILIES if family.paths), re.IGNORECASE)
_MODULES = re.compile(
    "|".join(f"(?:{one})" for family in FAMILIES for one in (family.modules, family.perhaps_modules) if one)
)
_CONTAINERS = frozenset(
    {"apptainer", "ch-run", "docker", "enroot", "podman", "podman-hpc", "sarus", "shifter", "singularity", "udocker"}
)
_RUNS = frozenset({"exec", "run", "start"})
_CONDAS = frozenset({"conda", "mamba", "micromamba"})

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
# Each pattern begins with a literal text, so that a script of 128 KiB is searched in less than a millisecond.
_VARIABLES = {
    prefix: re.compile(rf"{prefix}(?<![\w${{]{prefix})[A-Za-z0-9_]{{0,64}}(?=\+?=)")
    for prefix in sorted({prefix for family in FAMILIES for prefix in family.variables})
}
_SETENV = {prefix: re.compile(rf"setenv\s{{1,8}}({prefix}[A-Za-z0-9_]{{0,64}})\s") for prefix in _VARIABLES}
_FILES = re.compile("|".join(f"(?:{family.files})" for family in FAMILIES if family.files), re.IGNORECASE)
_SOURCED = re.compile(r"(?:vars|mpi)\.c?sh\b")
_ADDED = re.compile(r"PATH[= ]([^\s\"'`;&|]{1,512})")
_OF_AN_MPI = re.compile(r"mpi|mvapich|hpcx", re.IGNORECASE)
_FEW = 64  # maximum number of places in a script that are examined for each kind of sign; real scripts have fewer
_WORD_BEFORE = re.compile(r"(?:\A|[\s;&|(])(?:source|\.)\s+[\"']?([^\s\"';&|]{0,128})\Z")
_SPACK = re.compile(r"spack load((?:[ \t]+[\w@.%+~=/:^-]{1,80}){1,16})")
_HINTS = ("_", "activate", "vars.", "mpi.", "PATH", "spack")  # a text without these contains no signs
_CONDA = re.compile(r"activate(?<=(?:conda|mamba|ource) activate)\b")
_ACTIVATE = re.compile(r"/activate\b")
_IN_CONDA = re.compile(r"(?:conda|mamba|miniforge)[^\s;&|]*\Z", re.IGNORECASE)


@dataclass
class Signs:
    """MPI signs that have been found in a script, in order and without repetition."""

    found: dict[str, None] = field(default_factory=dict)

    def take(self, argv: Sequence[str]) -> None:
        """Add the signs in a command: its launcher with options, or a container that it starts."""
        for position, word in enumerate(argv[:_FIRST_WORDS]):
            name = basename(word)
            if (name in LAUNCHERS or name in _LAUNCHERS) and "=" not in word:
                self._add(_of_launcher(word, name, argv[position + 1 : position + 1 + _LAUNCH_WORDS]))
                break
        self._add(_of_container(argv[:_LAUNCH_WORDS]))

    def take_modules(self, names: Iterable[str]) -> None:
        """Add those of the first _FEW modules in `names` that are signs of an MPI."""
        self._add(f"module {name}" for name in islice(names, _FEW) if _MODULES.search(name[:SIGN_LIMIT].lower()))

    def take_text(self, text: str) -> None:
        """Add the signs in a script's text: variables that it sets, files that it sources, packages that it loads."""
        if any(hint in text for hint in _HINTS):
            self._add(_of_text(_COMMENT.sub("", text)))

    def _add(self, signs: Iterable[str]) -> None:
        for sign in signs:
            if len(self.found) < SIGNS_LIMIT:
                self.found["".join(c if " " <= c <= "~" else "?" for c in sign[:SIGN_LIMIT])] = None


def _of_launcher(word: str, name: str, rest: Sequence[str]) -> Iterator[str]:
    if name in _LAUNCHERS:
        yield f"launcher {name}"
    if _PATHS.search(f"{dirname(word)}/"):
        yield f"path {word if len(word) <= SIGN_LIMIT - 8 else '...' + word[11 - SIGN_LIMIT :]}"
    called = LAUNCHERS.get(name)
    if name == "srun":
        given = parse_options(SRUN, list(rest)).values
        if given.get("mpi", "") in PMI:
            yield f"pmi {given['mpi']}"
        if "container-image" in given or any(one.startswith("--container-image") for one in rest):
            yield "container srun --container-image"
    elif called and called.called in ("mpirun", "mpiexec"):
        yield from _of_options(rest, called.options)


def _of_options(rest: Sequence[str], words_after: Mapping[str, int]) -> Iterator[str]:
    """Yield the options of mpirun that only some families have; `words_after` has each option's value count."""
    position = 0
    while position < len(rest) and len(rest[position]) > 1:
        word = rest[position]
        if word[0] != "-":
            if not word.startswith("$"):
                return
            position += 1
            continue
        name, equals, value = word.lstrip("-").partition("=")
        takes = 0 if equals else words_after.get(name, 0)
        value = value or "".join(rest[position + 1 : position + 2])
        if name in _OPTIONS:
            yield f"option {word.partition('=')[0]}"
            if value.startswith(tuple(_VARIABLES)):  # -genv I_MPI_DEBUG 5
                yield f"variable {value.partition('=')[0]}"
        elif name == "map-by" and OPEN_MPI_PLACES.match(value):
            yield f"option --map-by {value}"
        position += 1 + takes


def _of_container(argv: Sequence[str]) -> Iterator[str]:
    for position, word in enumerate(argv):
        name = basename(word)
        if name in _CONTAINERS and (name in ("shifter", "ch-run") or not _RUNS.isdisjoint(argv[position + 1 :])):
            yield f"container {name}"
            return
        if name in _CONDAS and argv[position + 1 : position + 2] == ["run"]:
            yield f"container {name} run"
            return


def _of_text(text: str) -> Iterator[str]:
    if _CONDA.search(text) or any(
        _IN_CONDA.search(text[max(0, end.start() - 160) : end.start()])
        for end in islice(_ACTIVATE.finditer(text), _FEW)
    ):
        yield "container conda activate"
    for prefix in _VARIABLES:
        if prefix in text:
            yield from _of_variable(prefix, text)
    for end in islice(_SOURCED.finditer(text), _FEW):
        before = _WORD_BEFORE.search(text[max(0, end.start() - 160) : end.start()])
        if before and _FILES.search(before.group(1) + end.group()):
            yield f"file {(before.group(1) + end.group())[-SIGN_LIMIT + 8 :]}"
    for added in islice(_ADDED.finditer(text), _FEW):
        for directory in added.group(1).split(":"):
            if directory.endswith("/bin") and _OF_AN_MPI.search(directory) and _PATHS.search(directory):
                yield f"directory {directory[-SIGN_LIMIT + 16 :]}"
    packages = (word for loaded in _SPACK.finditer(text) for word in loaded.group(1).split())
    yield from (f"package {word}" for word in islice(packages, _FEW) if _MODULES.search(word.lower()))


def _of_variable(prefix: str, text: str) -> Iterator[str]:
    """Yield the first variable that a script sets, in sh or csh, and whose name begins with `prefix`."""
    found = _VARIABLES[prefix].search(text)
    if found:
        yield f"variable {found.group()}"
    elif "setenv" in text and (csh := _SETENV[prefix].search(text)):
        yield f"variable {csh.group(1)}"
