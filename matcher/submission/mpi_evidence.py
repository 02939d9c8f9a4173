# SPDX-License-Identifier: Apache-2.0
"""Families of MPI that each sign in a job's metadata fits, and the strength of the sign."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from reprise.matcher.submission.mpi_families import FAMILIES, OPEN_MPI, PMI, Family

_VALUE_LIMIT = 128  # maximum number of searched characters of a sign's value; some patterns take quadratic time
ALL_FAMILIES = frozenset(family.name for family in FAMILIES)
_WORDED = {
    "module": ("module {}", "the job loads the module {}"),
    "package": ("Spack package {}", "the job loads the Spack package {}"),
    "library": ("library {}", "the program needs the library {}"),
    "launcher": ("launcher {}", "the job starts {}"),
    "path": ("{}", "the job starts {}"),
    "option": ("option {}", "the job's launcher has the option {}"),
    "pmi": ("srun --mpi={}", "the job's srun has the option --mpi={}"),
    "variable": ("variable {}", "the job sets {}"),
    "directory": ("{} in PATH", "the job adds {} to PATH"),
    "file": ("source {}", "the job sources {}"),
}
"""For each kind of sign, its short form, and a clause for the reason of a refusal."""


class Strength(IntEnum):
    """Strength of a sign; a sign counts only if there are no stronger signs, or if these fit several families.

    STRONG signs decide which MPI the job's programs load. WEAK ones, such as variables, are often leftovers. FAINT ones
    are compilers that often come with an MPI, and options of srun that most jobs of a family need.
    """

    STRONG = 0
    WEAK = 1
    FAINT = 2


@dataclass(frozen=True)
class Sign:
    """A sign of an MPI, the names of the families that it fits, and its strength; a sign that fits all says nothing."""

    kind: str
    value: str
    fits: frozenset[str]
    strength: Strength

    def worded(self, *, as_clause: bool = False) -> str:
        """Return the sign as text, such as `module impi`, or as a clause that begins with "the job"."""
        return _WORDED[self.kind][as_clause].format(self.value)


def signs_of(modules: tuple[str, ...], told: tuple[str, ...], library: str) -> Iterator[Sign]:
    """Yield the signs in a job's modules, in JobMetadata.mpi_signs (`told`) and in its program's MPI library."""
    libraries = (library,) if library else ()
    for kind, values in (("module", modules), ("library", libraries)):
        yield from (_sign(kind, value) for value in values)
    for text in told:
        kind, _, value = text.partition(" ")
        if kind in _FITS:
            yield _sign(kind, value)


def _sign(kind: str, value: str) -> Sign:
    """Return a sign with the families that it fits; a sign that fits none says nothing, so it fits all."""
    fits, strength = _FITS[kind]
    found = frozenset(family.name for family in FAMILIES if fits(family, value))
    if not found and kind in ("module", "package"):
        found = frozenset(family.name for family in FAMILIES if _has(family.perhaps_modules, value))
        strength = Strength.FAINT
    return Sign(kind, value, found or ALL_FAMILIES, strength)


def _has(pattern: str, value: str) -> bool:
    return bool(pattern) and re.search(pattern, value[:_VALUE_LIMIT].lower()) is not None


def _fits_option(family: Family, value: str) -> bool:
    if value.startswith("--map-by "):  # only values that Open MPI alone has are signs
        return family.name == OPEN_MPI
    return value.lstrip("-") in family.options.split()


_FITS: Mapping[str, tuple[Callable[[Family, str], bool], Strength]] = {
    "module": (lambda family, value: _has(family.modules, value), Strength.STRONG),
    "package": (lambda family, value: _has(family.modules, value), Strength.STRONG),
    "library": (lambda family, value: re.fullmatch(family.libraries, value) is not None, Strength.STRONG),
    "launcher": (lambda family, value: value in family.launchers.split(), Strength.STRONG),
    "path": (lambda family, value: _has(family.paths, value), Strength.STRONG),
    "option": (_fits_option, Strength.STRONG),
    "variable": (lambda family, value: value.startswith(family.variables), Strength.WEAK),
    "directory": (lambda family, value: _has(family.paths, value), Strength.WEAK),
    "file": (lambda family, value: _has(family.files, value), Strength.WEAK),
    "pmi": (lambda family, value: family.name in PMI.get(value, ()), Strength.FAINT),
}
"""For each kind of sign, a test whether its value fits a family, and its strength."""
