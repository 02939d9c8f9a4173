# SPDX-License-Identifier: Apache-2.0
"""Groups of Open MPI releases that read rules files in the same way, and an emulation of each group.

`make test-matrix` compares the emulation with Open MPI 4.1.0, 4.1.4, 4.1.7, 4.1.8, 5.0.7, 5.0.8, 5.0.11 and 6.0.0rc2.
The emulations of 5.0.0 to 5.0.6, of JSON files and of the builds by Bull and Eviden are derived from source code and
have not been compared with builds.
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
from reprise.tuner.openmpi.rules.scan import OLDEST

FILE_MAX = 4 << 20  # maximum size in bytes; useful rules files are smaller, since each task of a job reads them


@dataclass(frozen=True)
class Family:
    """Releases that read rules files in the same way: `first` to `last`, both included (None: all later releases).

    `json`: the release tries to read a file as JSON first. `han_first`: `han` outranks `tuned`, so rules have no effect
    on communicators across nodes unless the priority of `han` is lowered. `forced_first`: a forced algorithm overrides
    the file.
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
        """Algorithms of the component `tuned` in this series, as listed in algorithms.toml."""
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
# A vendor's build (Bull, now Eviden) with coll_tuned_dynamic_rules_fileformat set to 1. No release is numbered 0.0.0,
# so only the name "nodes" selects this family.
NODE_LEVEL = Family("nodes", "5.0", (0, 0, 0), (0, 0, 0), Dialect(nodes=True))


@dataclass(frozen=True)
class Reading:
    """A release's interpretation of a rules file: the rules, or the reason why the release drops the file.

    `form` is the form of rules files that the release recognized. `crashes`: a job may crash while it reads the file.
    """

    family: Family
    form: str
    rules: Rules
    dropped: str | None = None
    crashes: bool = False


def family_of(release: str) -> Family:
    """Return the family of a release such as "4.1.4", or the family with that name.

    Raise TunerError if the release is unknown.
    """
    for family in (*FAMILIES, NODE_LEVEL):
        if release == family.name:
            return family
    number = parse_release(release)
    for family in FAMILIES:
        if family.first <= number and (family.last is None or number <= family.last):
            return family
    known = ", ".join(family.name for family in FAMILIES)
    raise TunerError(f"Open MPI {release}: its format of rules files is unknown: choose one of {known} and nodes")


def series_of(release: str) -> str:
    """Return the series of a release ("6.1" for "6.1.0"), or of a family with that name.

    Raise TunerError if the release is unknown.
    """
    family = family_of(release)
    if release == family.name:
        return family.series
    return ".".join(str(part) for part in parse_release(release)[:2])


def assumption(release: str) -> str:
    """Return what is assumed about how a release reads files, as one line; empty if its series is known.

    The newest family has no last release, so it also includes later series, which did not exist when it was described.
    Raise TunerError if the release is unknown.
    """
    family = family_of(release)
    if series_of(release) == family.series:
        return ""
    return (
        f"{release} is assumed to read files as {family.name} does, which is unproved: the newest series that was "
        f"compared is {family.series}: try the file with a build of {release} (docs/how-to/openmpi.md)"
    )


def read(data: bytes, family: Family, libc: int = OLDEST) -> Reading:
    """Return a release's interpretation of a file; any bytes are allowed.

    `libc`: minor version of the glibc that the release was built with (see `Scan`).
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
        return Reading(family, form, classic_form.read(data, replace(family.dialect, libc=libc)))
    except DroppedError as error:
        return Reading(family, form, {}, str(error), isinstance(error, CrashError))


def load(path: Path) -> bytes:
    """Return the bytes of a rules file.

    Raise TunerError with the reason if no release could read the file.
    """
    try:
        if not path.is_file():
            path.stat()
            what = "a directory" if path.is_dir() else "not a regular file"
            raise TunerError(f"{path}: is {what}, so Open MPI would continue without rules: specify a rules file")
        if path.stat().st_size > FILE_MAX:
            raise TunerError(f"{path}: is larger than {FILE_MAX >> 20} MiB, so it is not a rules file: specify one")
        return path.read_bytes()
    except OSError as error:
        raise TunerError(
            f"{path}: cannot be read ({error.strerror}), so Open MPI would continue without rules and without a "
            "message: check the path, and that the user may read it"
        ) from error


def agree(readings: Sequence[Reading]) -> bool:
    """Return whether all readings lead to the same decision on every call."""
    return all(next(differences(readings[0].rules, other.rules), None) is None for other in readings[1:])
