# SPDX-License-Identifier: Apache-2.0
"""Names of combinations: records with settings of several components that were measured together.

A combination's component is named after all its components, e.g. `ompio+sro`, so that code that reads a record's
component needs no special case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reprise.database.entities import Json, Record

JOINT = "+"
PARTS = "parts"
"""Key of a combination's parametrization whose value has each component's `version`, `parametrization` and
`artifact`."""
ARTIFACT = "artifact"
"""Key of a component's part in PARTS: the SHA-256 of the file that the part's variables name, if they name one."""


def joint_name(components: Iterable[str]) -> str:
    """Return the name of the combination of these components, independent of their order."""
    return JOINT.join(sorted(components))


def parts_of(component: str) -> tuple[str, ...]:
    """Return the components of a combination, or the one component itself if it is no combination."""
    return tuple(component.split(JOINT))


def has_part(column: str, parameter: str) -> str:
    """Return an SQL condition that is true for records of a component and for combinations with it.

    `column` is the SQL expression for the record's component; `parameter` is the SQL expression for the component that
    is searched for.
    """
    return f"instr('{JOINT}' || {column} || '{JOINT}', '{JOINT}' || {parameter} || '{JOINT}') > 0"


def settings_of(record: Record) -> Json:
    """Return the record's parametrization; the keys are COMPONENT.PARAMETER for a combination."""
    parts = record.parametrization.get(PARTS)
    if not isinstance(parts, dict):
        return record.parametrization
    own = {name: part.get("parametrization", {}) for name, part in parts.items()}
    return {f"{name}.{key}": value for name, of in own.items() for key, value in of.get("parameters", of).items()}


def artifacts_of(record: Record) -> Sequence[str]:
    """Return the SHA-256 of each file that the record's variables name; only a combination may name several files."""
    parts = record.parametrization.get(PARTS)
    of_parts = parts.values() if isinstance(parts, dict) else ()
    found = [record.artifact_sha256, *(part.get(ARTIFACT) for part in of_parts if isinstance(part, dict))]
    return list(dict.fromkeys(sha256 for sha256 in found if sha256))
