# SPDX-License-Identifier: Apache-2.0
"""Properties of the installed Open MPI, parsed from `ompi_info --all --parsable`.

A line of that output is `mca:<framework>:<component>:param:<name>:<attribute>:<value>`; the value may contain colons.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reprise.tuner.errors import TunerError
from reprise.tuner.model.ompi_info import ask

_ALGORITHM = re.compile(r"mca:coll:tuned:param:coll_tuned_([a-z_]+)_algorithm:enumerator:value:(\d+):(.+)")
_HAN_ALGORITHM = re.compile(r"mca:coll:han:param:coll_han_use_([a-z_]+)_algorithm:enumerator:value:(\d+):(.+)")
_COUNT = re.compile(r"mca:coll:tuned:param:coll_tuned_([a-z_]+)_algorithm_count:value:(\d+)")
_PRIORITY = re.compile(r"mca:coll:([a-z_0-9]+):param:coll_\1_priority:value:(-?\d+)")
_VERSION = re.compile(r"ompi:version:full:(\d+(?:\.\d+)+\S*)")


@dataclass(frozen=True)
class OpenMPIBuild:
    """One build of Open MPI.

    `algorithms` maps a collective to its algorithms as {id: name}; with id 0, the built-in rules decide. `priorities`
    maps a `coll` component to its priority; the component with the highest priority implements a collective on a
    communicator. `han_algorithms` are the algorithms of the component `han`, from 5.0 on.
    """

    version: str
    algorithms: Mapping[str, Mapping[int, str]]
    priorities: Mapping[str, int]
    han_algorithms: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    @cached_property
    def release(self) -> tuple[int, ...]:
        """The version as numbers, e.g. (4, 1, 4)."""
        return parse_release(self.version)


def parse_release(version: str) -> tuple[int, ...]:
    """Return (4, 1, 4) for `4.1.4` and `4.1.4rc1`.

    Raise TunerError if the version is not a release.
    """
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if not match:
        raise TunerError(f"{version!r} is not an Open MPI release: write it as in '4.1.4'")
    return tuple(int(part) for part in match.groups())


def parse(text: str) -> OpenMPIBuild:
    """Parse the output of `ompi_info --all --parsable`.

    Raise TunerError if it does not describe `coll_tuned`.
    """
    lines = text.splitlines()
    versions = [match[1] for line in lines if (match := _VERSION.fullmatch(line))]
    if not versions:
        raise TunerError(
            "ompi_info reports no Open MPI version: set openmpi.ompi_info to the command of the build in use"
        )
    version, algorithms = versions[-1], _named(_ALGORITHM, lines)
    if not algorithms:
        raise TunerError(f"Open MPI {version} has no coll_tuned, which rules files need: build it with that component")
    counts = {match[1]: int(match[2]) for line in lines if (match := _COUNT.fullmatch(line))}
    for collective, known in algorithms.items():
        # The enumeration and the count (id 0 included) come from different parts of Open MPI's code, so they are
        # compared.
        count = counts.get(collective, 0)
        if sorted(known) != list(range(count)):
            raise TunerError(
                f"Open MPI {version} counts {count} algorithms of {collective} but names the ids {sorted(known)}: "
                "it cannot be tuned until they agree; use a released build"
            )
    priorities = {match[1]: int(match[2]) for line in lines if (match := _PRIORITY.fullmatch(line))}
    return OpenMPIBuild(version, algorithms, priorities, _named(_HAN_ALGORITHM, lines))


def _named(pattern: re.Pattern[str], lines: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return {collective: {id: name}} from the lines that match `pattern`."""
    found: dict[str, dict[int, str]] = {}
    for line in lines:
        if match := pattern.fullmatch(line):
            found.setdefault(match[1], {})[int(match[2])] = match[3]
    return found


def describe(command: str) -> OpenMPIBuild:
    """Return the properties of the build that `command` (an `ompi_info`) reports.

    Raise TunerError with one line if the command fails or reports no usable build.
    """
    return parse(ask(command))
