# SPDX-License-Identifier: Apache-2.0
"""Combinations: records with settings of several components that were measured together.

A combination's name consists of its components' names, e.g. `ompio+sro`, and is stored like the name of a single
component, so code that reads the name needs no special case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reprise.database.entities import Json, Record

JOINT = "+"
PARTS = "parts"
"""Key in a combination's parametrization whose value has the `version`, `parametrization` and `artifact` of each
component."""
ARTIFACT = "artifact"
"""Key in a component's part of PARTS: the SHA-256 digest of the file that the part's variables name, if any."""
OTHER_ARTIFACTS = "other_artifacts"
"""Key in a component's parametrization: the SHA-256 digests of further files that the variables name."""


def joint_name(components: Iterable[str]) -> str:
    """Return the name of the combination of these components; their order does not matter."""
    return JOINT.join(sorted(components))


def parts_of(component: str) -> tuple[str, ...]:
    """Return the components of a combination, or the component itself if it is not a combination."""
    return tuple(component.split(JOINT))


def has_part(column: str, parameter: str) -> str:
    """Return an SQL condition that is true for a component's records, including combinations with this component.

    `column` is the SQL expression for the record's component, and `parameter` that for the component to search for.
    """
    return f"instr('{JOINT}' || {column} || '{JOINT}', '{JOINT}' || {parameter} || '{JOINT}') > 0"


def settings_of(record: Record) -> Json:
    """Return the record's parametrization; if the record is a combination, the keys are COMPONENT.PARAMETER."""
    parts = record.parametrization.get(PARTS)
    if not isinstance(parts, dict):
        return record.parametrization
    own = {name: part.get("parametrization", {}) for name, part in parts.items()}
    return {f"{name}.{key}": value for name, of in own.items() for key, value in of.get("parameters", of).items()}


def artifacts_of(record: Record) -> Sequence[str]:
    """Return the SHA-256 digest of each file that the record's variables name."""
    parts = record.parametrization.get(PARTS)
    of_parts = [part for part in (parts.values() if isinstance(parts, dict) else ()) if isinstance(part, dict)]
    found = [record.artifact_sha256, *(part.get(ARTIFACT) for part in of_parts)]
    for one in (record.parametrization, *(part.get("parametrization") for part in of_parts)):
        others = one.get(OTHER_ARTIFACTS) if isinstance(one, dict) else None
        found += others if isinstance(others, list) else []
    return list(dict.fromkeys(sha256 for sha256 in found if sha256))
