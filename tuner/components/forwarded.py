# SPDX-License-Identifier: Apache-2.0
"""Inputs of trials whose files go through I/O forwarders: the site's variables, and a map of the whole pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reprise.allowlist import PRELOAD_VARIABLE
from reprise.config import Forwarding
from reprise.database.forwarding import COMPONENT
from reprise.matcher.arbiter.job_variables import LIBRARIES, MAP, of_site
from reprise.matcher.forwarding.map_directory import map_text
from reprise.tuner.components.described_component import Description
from reprise.tuner.errors import TunerError

MAP_FILE = "forwarders"


@dataclass(frozen=True)
class Inputs:
    """Variables and files of a trial that loads a forwarding library; empty for components without one."""

    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


NONE = Inputs()


def is_out_of_reach(definition: Mapping[str, Any], settings: Forwarding) -> bool:
    """Return whether a component's file needs forwarders, and the site configures none."""
    parameters = definition.get("parameters") or {}
    named = [one for key, one in parameters.items() if (one or {}).get("name", key) == PRELOAD_VARIABLE]
    chosen = {value for one in named for value in one.get("values", ())}
    return bool(definition["kind"] == COMPONENT or chosen & set(LIBRARIES)) and not of_site(settings)


def inputs(description: Description, settings: Forwarding) -> Inputs:
    """Return the inputs of trials. Raise TunerError if a component needs forwarders and the site configures none."""
    chosen = {str(v) for one in description.parameters if one.name == PRELOAD_VARIABLE for v in one.values}
    if not chosen & set(LIBRARIES):
        return NONE
    check(settings)
    return through(settings.forwarders, settings)


def check(settings: Forwarding) -> None:
    """Raise TunerError if the site does not configure its forwarders."""
    if not settings.forwarders:
        raise TunerError("forwarding.forwarders is empty: name the addresses of the forwarders in the configuration")
    if not settings.prefixes:
        raise TunerError("forwarding.prefixes is empty: name the directories that the forwarders export")


def through(addresses: Sequence[str], settings: Forwarding) -> Inputs:
    """Return the inputs of a trial whose map lists these forwarders."""
    return Inputs({**of_site(settings), MAP: f"{{directory}}/{MAP_FILE}"}, {MAP_FILE: map_text(addresses)})
