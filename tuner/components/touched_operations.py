# SPDX-License-Identifier: Apache-2.0
"""Operations that a component's parameters can affect, as far as the installed Open MPI has these parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.tuner.components import component_file
from reprise.tuner.components.openmpi_build import known_variables
from reprise.tuner.errors import TunerError


def operations(definition: Mapping[str, Any], ompi_info: str) -> Sequence[str]:
    """Return the names of operations that a component can affect; none if its file declares none.

    If parameters declare `touches` of their own, the names are those of the parameters that the installed Open MPI has.
    A parameter without `touches` has those of the component. `ompi_info` is the command that describes the build. Raise
    TunerError if the file is invalid.
    """
    whole: Sequence[str] = definition.get("touches", [])
    if definition["kind"] != "application":
        return whole
    file = component_file.check(definition)
    if not any(one.touches for one in file.parameters.values()):
        return whole
    sections = {section.name or key: section for key, section in file.parameters.items()}
    try:
        known = known_variables(ompi_info) if file.known_to else sections.keys()
    except TunerError:
        return whole  # the campaign will say why the build cannot be asked
    own = [name for variable, one in sections.items() if variable in known for name in one.touches or whole]
    return list(dict.fromkeys(own)) or whole
