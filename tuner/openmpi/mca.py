# SPDX-License-Identifier: Apache-2.0
"""MCA parameters of a build of Open MPI, parsed from `ompi_info --all --parsable`.

A line of that output is `mca:<framework>:<component>:param:<name>:<attribute>:<value>`; the value may contain colons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reprise.tuner.errors import TunerError

_LINE = re.compile(r"mca:([^:]+):([^:]+):param:([^:]+):([a-z_]+):(.*)")
_CHOICE = re.compile(r"value:(-?\d+):(.*)")
_INTEGERS = frozenset({"int", "unsigned_int", "unsigned_long", "unsigned_long_long", "size_t", "uint64_t"})
# Parameters that do not affect speed or are set elsewhere: verbosity, priorities, and read-only counts.
_UNTOUCHED = re.compile(r"_(verbose|verbosity|priority|algorithm_count)$")
AROUND = 3  # number of doublings, and of halvings, of the current value that are tried if the build lists no choices
INT_MAX = 2**31 - 1


@dataclass(frozen=True)
class MCAParameter:
    """One parameter with its current value.

    `source`: origin of the value (`default`, `environment`, a file). `level`: Open MPI's level from 1 (for all users)
    to 9 (for developers). `choices`: legal values with their names, if the build lists them.
    """

    framework: str
    component: str
    name: str
    kind: str
    value: str
    source: str = "default"
    level: int = 9
    help: str = ""
    choices: Mapping[int, str] = field(default_factory=dict)
    deprecated: bool = False
    disabled: bool = False
    synonym_of: str | None = None

    @property
    def variable(self) -> str:
        """Environment variable that sets the parameter."""
        return f"OMPI_MCA_{self.name}"

    @property
    def tunable(self) -> bool:
        """Whether to try values: the parameter is a number or has choices, is in use, and may affect speed."""
        if self.deprecated or self.disabled or self.synonym_of or _UNTOUCHED.search(self.name):
            return False
        return bool(self.choices) or self.kind in _INTEGERS

    def values(self) -> Sequence[int]:
        """Return the values to try: all that the build lists, or the current one doubled and halved up to AROUND times.

        If the current value is 0, the values are 0 and the first powers of two; if it is negative, it is the only value
        to try. The result is empty if the parameter is not tunable.
        """
        if not self.tunable:
            return ()
        if self.choices:
            return tuple(sorted(self.choices))
        try:
            number = int(self.value)
        except ValueError:
            return ()
        if number < 0:
            return (number,)
        if number == 0:
            return (0, *(2**i for i in range(AROUND + 1)))
        limit = INT_MAX if self.kind == "int" else 2**64 - 1
        scaled = {number >> i for i in range(AROUND + 1)} | {number << i for i in range(AROUND + 1)}
        return tuple(sorted(value for value in scaled if 0 < value <= limit))


def parse(text: str) -> list[MCAParameter]:
    """Return all parameters in the output of `ompi_info --all --parsable`, in the order of that output.

    Raise TunerError if there are none.
    """
    attributes: dict[tuple[str, str, str], dict[str, str]] = {}
    choices: dict[str, dict[int, str]] = {}
    for match in filter(None, map(_LINE.fullmatch, text.splitlines())):
        framework, component, name, attribute, value = match.groups()
        known = attributes.setdefault((framework, component, name), {})
        if attribute == "enumerator":
            if choice := _CHOICE.fullmatch(value):
                choices.setdefault(name, {})[int(choice[1])] = choice[2]
        else:
            known[attribute] = value
    if not attributes:
        raise TunerError("ompi_info reports no MCA parameter: use the output of `ompi_info --all --parsable`")
    return [_parameter(*place, known, choices.get(place[2], {})) for place, known in attributes.items()]


def _parameter(
    framework: str, component: str, name: str, known: Mapping[str, str], choices: Mapping[int, str]
) -> MCAParameter:
    level = known.get("level", "9")
    synonym = known.get("synonym_of")
    return MCAParameter(
        framework,
        component,
        name,
        kind=known.get("type", ""),
        value=known.get("value", ""),
        source=known.get("source", "default"),
        level=int(level) if level.isdigit() else 9,
        help=known.get("help", ""),
        choices=choices,
        deprecated=known.get("deprecated") == "yes",
        disabled=known.get("disabled") == "true",
        synonym_of=synonym.removeprefix("name:") if synonym else None,
    )


def chosen(
    parameters: Sequence[MCAParameter], words: Sequence[str], tunable: bool, level: int
) -> Iterator[MCAParameter]:
    """Yield the parameters up to `level` that contain each of `words` in their framework, component, name or help text.

    If `tunable` is set, skip parameters that are not tunable.
    """
    for parameter in parameters:
        text = f"{parameter.framework} {parameter.component} {parameter.name} {parameter.help}".lower()
        if parameter.level <= level and (parameter.tunable or not tunable) and all(w.lower() in text for w in words):
            yield parameter


def named(parameters: Sequence[MCAParameter], name: str) -> MCAParameter:
    """Return the parameter with this name, which may have the prefix OMPI_MCA_.

    If there is none, raise TunerError with a suggestion of similar names.
    """
    import difflib

    wanted = name.removeprefix("OMPI_MCA_")
    by_name = {parameter.name: parameter for parameter in parameters}
    if wanted not in by_name:
        near = difflib.get_close_matches(wanted, by_name, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "see `reprise tune mca list`"
        raise TunerError(f"{wanted}: this Open MPI has no such MCA parameter: {hint}")
    return by_name[wanted]
