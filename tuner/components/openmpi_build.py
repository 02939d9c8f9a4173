# SPDX-License-Identifier: Apache-2.0
"""Parameters that the installed Open MPI has, and proof that it selects a component (`known_to: openmpi`).

Open MPI ignores a variable that it does not know without a word, so that its trials would all measure the same. It also
ignores the priority of a component that is not available on a communicator. But with ASKING, it prints which components
it selects for each communicator.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence

from reprise.tuner.components.described_component import ComponentParameter, Description
from reprise.tuner.errors import TunerError
from reprise.tuner.model.ompi_info import ask

PREFIX = "OMPI_MCA_"
ASKING = {"OMPI_MCA_coll_base_verbose": "10"}
_PRIORITY = re.compile(rf"{PREFIX}coll_([a-z0-9]+)_priority")
_SELECTED = re.compile(r"coll:base:comm_select: selecting\s+([a-z0-9_]+), priority\s+\d+, Enabled")
_PARAMETER = re.compile(r"^mca:[^:]+:[^:]+:param:([^:]+):value:", re.MULTILINE)


def known_variables(ompi_info: str) -> Collection[str]:
    """Return the variables of the build's parameters. Raise TunerError if the command `ompi_info` fails."""
    return {f"{PREFIX}{name}" for name in _PARAMETER.findall(ask(ompi_info))}


def with_known(description: Description, ompi_info: str) -> Description:
    """Return the description without the parameters that the build does not have; `ompi_info` is the command.

    Descriptions of components without the key `known_to` are returned unchanged. Raise TunerError if the build has none
    of the parameters, or if the command fails.
    """
    if not description.known_to:
        return description
    known = known_variables(ompi_info)
    parameters = [one for one in description.parameters if one.name in known]
    if not parameters:
        missing = ", ".join(one.name for one in description.parameters)
        raise TunerError(
            f"component {description.name}: the Open MPI that {ompi_info} describes has none of {missing}: set "
            "openmpi.ompi_info to the build of the jobs, or tune another component"
        )
    keys = {one.key for one in parameters}
    return dataclasses.replace(description, parameters=[_without_others(one, keys) for one in parameters])


def _without_others(parameter: ComponentParameter, keys: Collection[str]) -> ComponentParameter:
    """Return a parameter without the conditions on parameters other than `keys`, which keep their defaults."""
    conditions = {key: values for key, values in parameter.counts_when.items() if key in keys}
    return dataclasses.replace(parameter, counts_when=conditions)


def preferred(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the names of the `coll` components whose priorities the variables set."""
    return [match[1] for name in environment if (match := _PRIORITY.fullmatch(name))]


def objection(names: Sequence[str], output: str) -> str:
    """Return the reason why a run with ASKING does not prove that Open MPI selects these components; "" if it does."""
    selected = set(_SELECTED.findall(output))
    if not selected:
        return (
            "the run of the winner does not say which components Open MPI selects for the collectives: check that the "
            "program uses Open MPI from 5.0 on, and that its standard error is kept"
        )
    missing = [name for name in names if name not in selected]
    if missing:
        return (
            f"Open MPI selects {', '.join(sorted(selected))}, but not {missing[0]}, which is not available to this "
            "program: the gain has another cause; leave this parameter out (`space`)"
        )
    return ""
