# SPDX-License-Identifier: Apache-2.0
"""The component of a combination: a record whose settings are those of several components, measured together.

It is named after all of them, `ompio+sro`, so that whatever asks for a record's component needs to know no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reprise.database.entities import Json, Record

JOINT = "+"
PARTS = "parts"
"""Key of a combination's parametrization: by component its `version`, its `parametrization`, and its `artifact`."""
ARTIFACT = "artifact"
"""Key of a part: the SHA-256 of the file that its variables name, if they name one."""


def joint_name(components: Iterable[str]) -> str:
    """The name for several components, the same in whatever order they come."""
    return JOINT.join(sorted(components))


def parts_of(component: str) -> tuple[str, ...]:
    """The components that a record has settings of: one, or those of a combination."""
    return tuple(component.split(JOINT))


def has_part(column: str, parameter: str) -> str:
    """SQL that holds for the records of a component and for the combinations that it is a part of."""
    return f"instr('{JOINT}' || {column} || '{JOINT}', '{JOINT}' || {parameter} || '{JOINT}') > 0"


def settings_of(record: Record) -> Json:
    """The record's parametrization, that of a combination as COMPONENT.PARAMETER."""
    parts = record.parametrization.get(PARTS)
    if not isinstance(parts, dict):
        return record.parametrization
    own = {name: part.get("parametrization", {}) for name, part in parts.items()}
    return {f"{name}.{key}": value for name, of in own.items() for key, value in of.get("parameters", of).items()}


def artifacts_of(record: Record) -> Sequence[str]:
    """The SHA-256 of each file that the record's variables name; a combination may name several."""
    parts = record.parametrization.get(PARTS)
    of_parts = parts.values() if isinstance(parts, dict) else ()
    found = [record.artifact_sha256, *(part.get(ARTIFACT) for part in of_parts if isinstance(part, dict))]
    return list(dict.fromkeys(sha256 for sha256 in found if sha256))
