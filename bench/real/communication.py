# SPDX-License-Identifier: Apache-2.0
"""Decide which settings of a record concern only MPI messages and collectives, according to the component files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from reprise.tuner.components.component_file import read
from reprise.tuner.components.described_component import Via
from reprise.tuner.model import touched_names
from reprise.tuner.openmpi.rules_channel import VARIABLES

COMPONENTS = Path(__file__).parents[2] / "etc/components"
COMMUNICATION = ("mpi.collective", "mpi.p2p")


def only_communicates(components: Iterable[str], files: Path = COMPONENTS) -> bool:
    """Return whether all these components, according to their files, touch only MPI messages and collectives."""
    return all(_communicates(_definition(one, files)) for one in components)


def communicating(
    environment: Mapping[str, str], components: Iterable[str], files: Path = COMPONENTS
) -> dict[str, str]:
    """Return those of a record's variables that components set which touch only MPI messages and collectives.

    `environment` has the variables that the record gives to jobs, and `components` are the record's components.
    """
    definitions = [_definition(one, files) for one in components]
    names = {name for one in definitions if _communicates(one) for name in _names(one)}
    return {name: value for name, value in environment.items() if name in names}


def _definition(component: str, files: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load((files / f"{component}.yaml").read_text())
    return found


def _communicates(definition: Mapping[str, Any]) -> bool:
    touched = definition.get("touches", [""])
    return all(any(touched_names.touches(one, name) for one in COMMUNICATION) for name in touched)


def _names(definition: Mapping[str, Any]) -> set[str]:
    """Return the variables that a component can set in jobs."""
    if definition["kind"] == "collectives":
        return {name for names in VARIABLES.values() for name in names}
    described = read(definition, {})
    own = {name for one in described.parameters if one.via is Via.ENVIRONMENT for name in (one.name, *one.copies)}
    return own | described.activation.environment.keys()
