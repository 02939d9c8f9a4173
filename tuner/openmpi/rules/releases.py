# SPDX-License-Identifier: Apache-2.0
"""Which releases of Open MPI read a rules file in which way, and what each would do with one: the emulator.

The readers of 4.1.0, 4.1.4, 4.1.7, 4.1.8, 5.0.7, 5.0.8 and 5.0.11 are compared with these by `make test-matrix`. Those
of 5.0.0 to 5.0.6, of 6 and of the builds of Bull and Eviden were read from their sources only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.algorithms import Algorithms, known_algorithms
from reprise.tuner.openmpi.installed_build import parse_release
from reprise.tuner.openmpi.rules import classic_form, json_form, lax_json
from reprise.tuner.openmpi.rules.classic_form import CrashError, Dialect, DroppedError
from reprise.tuner.openmpi.rules.rules_model import Rules, differences

FILE_MAX = 4 << 20  # bytes: no rules file of any use is larger, and each task of a job reads it


@dataclass(frozen=True)
class Family:
    """Releases that read alike: `first` to `last`, both included; None is all that come later.

    `json`: the JSON form is tried first. `han_first`: `han` outranks `tuned`, so that rules have no effect on
    communicators across nodes unless its priority is lowered. `forced_first`: a forced algorithm beats the file.
    """

    name: str
    series: str
    first: tuple[int, int, int]
    last: tuple[int, int, int] | None
    dialect: Dialect
    json: bool = False
    han_first: bool = True
    forced_first: bool = False

    @property
    def algorithms(self) -> Algorithms:
        """The algorithms of its `tuned`, as they were when this was written."""
        return known_algorithms("tuned", self.series)


_OLD = Dialect()
_WITH_HEADER = Dialect(header=True)
FAMILIES = (
    Family("4.1.0-4.1.7", "4.1", (4, 1, 0), (4, 1, 7), _OLD, han_first=False),
    Family("4.1.8+", "4.1", (4, 1, 8), (4, 1, 99), _WITH_HEADER, han_first=False),
    Family("5.0.0-5.0.6", "5.0", (5, 0, 0), (5, 0, 6), _OLD),
    Family("5.0.7+", "5.0", (5, 0, 7), (5, 0, 99), _WITH_HEADER),
    Family("6", "6.0", (6, 0, 0), None, replace(_WITH_HEADER, shifted=True), json=True, forced_first=True),
)
# A build of Bull or Eviden whose coll_tuned_dynamic_rules_fileformat is 1; no release has this number.
NODE_LEVEL = Family("nodes", "5.0", (0, 0, 0), (0, 0, 0), Dialect(nodes=True))


@dataclass(frozen=True)
class Reading:
    """What a release makes of a file: its rules, or none and why it is dropped. `form` is what it was read as.

    `crashes`: a job may crash as it reads the file.
    """

    family: Family
    form: str
    rules: Rules
    dropped: str | None = None
    crashes: bool = False


def family_of(release: str) -> Family:
    """The family of "4.1.4" or of a family's own name. Raises TunerError for a release that is not known."""
    for family in (*FAMILIES, NODE_LEVEL):
        if release == family.name:
            return family
    number = parse_release(release)
    for family in FAMILIES:
        if family.first <= number and (family.last is None or number <= family.last):
            return family
    known = ", ".join(family.name for family in FAMILIES)
    raise TunerError(f"Open MPI {release}: how it reads rules files is not known; known are {known} and nodes")


def read(data: bytes, family: Family, binary: bool = False) -> Reading:
    """What a release does with a file of these bytes; any bytes will do.

    `binary`: it was built with glibc 2.38 or newer (see `Dialect`).
    """
    if family.json:
        try:
            root = lax_json.parse(data)
        except lax_json.NotJSONError:
            pass
        else:
            try:
                return Reading(family, "JSON", json_form.read(root, family.algorithms))
            except DroppedError as error:
                return Reading(family, "JSON", {}, str(error))
    form = "with a level of nodes" if family.dialect.nodes else "classic"
    try:
        return Reading(family, form, classic_form.read(data, replace(family.dialect, binary=binary)))
    except DroppedError as error:
        return Reading(family, form, {}, str(error), isinstance(error, CrashError))


def load(path: Path) -> bytes:
    """The bytes of a rules file. Raises TunerError for what no release could read, with the reason."""
    try:
        if not path.is_file():
            path.stat()
            what = "a directory" if path.is_dir() else "no regular file"
            raise TunerError(f"{path}: is {what}, and Open MPI would go on without rules: give a rules file")
        if path.stat().st_size > FILE_MAX:
            raise TunerError(f"{path}: is larger than {FILE_MAX >> 20} MiB, so it is no rules file: give one")
        return path.read_bytes()
    except OSError as error:
        raise TunerError(
            f"{path}: cannot be read ({error.strerror}), and Open MPI would go on without rules and without a word: "
            "see that the path is right and the user may read it"
        ) from error


def agree(readings: Sequence[Reading]) -> bool:
    """Whether all of these decide every call alike."""
    return all(next(differences(readings[0].rules, other.rules), None) is None for other in readings[1:])
