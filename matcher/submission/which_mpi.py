# SPDX-License-Identifier: Apache-2.0
"""The MPI family that a job uses, and its release if known, deduced from the signs in the job's metadata.

A family remains a candidate if all strong signs fit it. Weaker signs count only if there are no strong ones, or if
several candidates remain. If no family fits all signs that count, the MPI is unknown, and each of these signs speaks
against the families that it does not fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.mpi_evidence import ALL_FAMILIES, Sign, Strength, signs_of
from reprise.matcher.submission.mpi_families import FAMILIES, TOOLCHAINS

_RELEASES = {
    family.name: re.compile(
        rf"(?<![a-z])(?:{family.releases})[-_/@=]{{0,2}}v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)(?![0-9a-z:,]|\.[0-9])",
        re.IGNORECASE,
    )
    for family in FAMILIES
    if family.releases
}
_TOOLCHAIN = re.compile(rf"(?<![a-z])({'|'.join(TOOLCHAINS)})[-/](20[0-9]{{2}}[ab])(?![a-z])", re.IGNORECASE)
_CACHED = 1024  # maximum number of cached results; one decision needs the results for several records


@dataclass(frozen=True)
class MPI:
    """The MPI of a job.

    `family` is the name of an MPI family, and `release` its release, such as "5.0.3" or "4.1"; "" means unknown.
    `evidence` are the signs from which family and release are deduced. `doubt` is the reason why the family or its
    release is uncertain, "" if both are certain as far as they are known.
    """

    family: str = ""
    release: str = ""
    evidence: tuple[str, ...] = ()
    doubt: str = ""
    _against: tuple[tuple[str, str], ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether the family is known from strong signs, and the job's programs run outside of containers."""
        return bool(self.family) and not self.doubt

    def against(self, family: str) -> str:
        """Return a clause with the sign that speaks against a family; "" if none does."""
        return dict(self._against).get(family, "")

    def __str__(self) -> str:
        """Return a text such as `Open MPI 5.0.3 (module openmpi/5.0.3)` or `unknown, because ...`."""
        signs = f" ({', '.join(self.evidence)})" if self.evidence else ""
        if not self.family:
            return f"unknown, because {self.doubt}"
        doubt = f"; uncertain, because {self.doubt}" if self.doubt else ""
        return f"{self.family}{' ' * bool(self.release)}{self.release}{signs}{doubt}"


def which_mpi(job: JobMetadata) -> MPI:
    """Return the MPI that a job uses, according to its modules, its script and its program's libraries."""
    return _which(job.modules, job.mpi_signs, job.mpi_library)


@lru_cache(maxsize=_CACHED)
def _which(modules: tuple[str, ...], told: tuple[str, ...], library: str) -> MPI:
    known = [sign for sign in signs_of(modules, told, library) if sign.fits != ALL_FAMILIES]
    strong = [sign for sign in known if sign.strength is Strength.STRONG]
    weak = [sign for sign in known if sign.strength is Strength.WEAK]
    faint = [sign for sign in known if sign.strength is Strength.FAINT]
    deciding, left = _decided(strong or weak or faint, [*weak, *faint])
    evidence = tuple(dict.fromkeys(sign.worded() for sign in deciding))
    against = tuple((name, _speaks_against(name, deciding)) for name in sorted(ALL_FAMILIES - left))
    if not deciding:
        return MPI(doubt="the script and the program show no sign of it")
    if not left:
        return MPI("", "", evidence, f"the signs contradict each other: {', '.join(evidence)}", against)
    if len(left) > 1:
        names = [family.name for family in FAMILIES if family.name in left]
        either = f"{', '.join(names[:-1])} and {names[-1]}"
        return MPI("", "", evidence, f"{either} share the signs: {', '.join(evidence)}", against)
    inside = next((sign.partition(" ")[2] for sign in told if sign.startswith("container ")), "")
    doubt = "" if strong else "modules and launchers do not confirm it"
    if inside:
        doubt = f"the program may have its own MPI ({inside})"
    (family,) = left
    return MPI(family, _release(family, known), evidence, doubt, against)


def _decided(deciding: list[Sign], others: list[Sign]) -> tuple[list[Sign], frozenset[str]]:
    """Return the signs that decide, and the families that fit all of them.

    If several families fit the strongest signs, weaker signs that exclude some of these families, but not all, decide
    too.
    """
    left = frozenset.intersection(ALL_FAMILIES, *(sign.fits for sign in deciding))
    for sign in others if deciding and len(left) > 1 else ():
        if sign not in deciding and left & sign.fits not in (left, frozenset()):
            left &= sign.fits
            deciding = [*deciding, sign]
    return deciding, left


def _speaks_against(name: str, deciding: list[Sign]) -> str:
    """Return the clause of the first sign that does not fit a family; "" if all signs fit it."""
    return next((sign.worded(as_clause=True) for sign in deciding if name not in sign.fits), "")


def _release(family: str, known: list[Sign]) -> str:
    """Return a family's release that modules or packages name; "" if they name none, or several.

    The result is also "" if the name of a directory from which the job starts this MPI, or which it adds to PATH, does
    not contain the same release. The values of variables in such names are unknown; modules often set them.
    """
    named: set[str] = set()
    elsewhere: set[str] = set()
    for sign in known:
        if family not in sign.fits:
            continue
        if sign.kind in ("module", "package"):
            named |= _releases_in(family, sign.value)
        elif sign.kind in ("path", "directory", "file") and "$" not in sign.value:
            elsewhere |= _releases_in(family, sign.value) or {""}
    return named.pop() if len(named) == 1 and elsewhere <= named else ""


def _releases_in(family: str, text: str) -> set[str]:
    found = set()
    for match in _TOOLCHAIN.finditer(text):
        its, releases = TOOLCHAINS[match[1].lower()]
        if its == family and match[2].lower() in releases:
            found.add(releases[match[2].lower()])
    if family in _RELEASES:
        found |= {match[1] for match in _RELEASES[family].finditer(text)}
    return found
