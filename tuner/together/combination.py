# SPDX-License-Identifier: Apache-2.0
"""Combinations: settings of several components that were measured together on an application and become one record.

`combine` checks that the parts are compatible and returns the settings that a job gets. The tuned runs must use the
same settings. `publication` adds the gain of these runs. A combination of one part gives a record of that component.
The functions have no side effects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from reprise.database.entities import Artifact, Json
from reprise.database.gain_subject import GAIN_OF
from reprise.database.joint_component import ARTIFACT, PARTS, joint_name, parts_of
from reprise.matcher.decision.user_choices import conflict
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import MEMORY, Comparison, FromTrials, Publication


@dataclass(frozen=True)
class Part:
    """Settings of one component, from its record or its publication.

    `environment`: variables that jobs get. `conflicts`: patterns of variables; a job that sets one of them gets no
    settings. `context`: conditions under which the settings are valid.
    """

    component: str
    version: str
    parametrization: Json
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    context: Json = field(default_factory=dict)
    artifact: Artifact | None = None
    note: str = ""
    other_artifacts: Sequence[Artifact] = ()

    @classmethod
    def of_publication(cls, component: str, version: str, found: Publication) -> Part:
        """Return the part that the component's campaign would publish on its own."""
        return cls(
            component,
            version,
            found.parametrization,
            found.environment,
            found.conflicts,
            found.context,
            found.artifact,
            found.note,
            found.other_artifacts,
        )


@dataclass(frozen=True)
class Combination:
    """Compatible parts, and the settings of a job that uses all of them."""

    parts: Sequence[Part]
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    context: Json

    @property
    def component(self) -> str:
        """Name of the record's component, such as `ompio+sro`."""
        return joint_name(name for part in self.parts for name in parts_of(part.component))

    @property
    def version(self) -> str:
        """Versions of the components, in the order of their names, joined by "+"."""
        ordered = sorted(self.parts, key=lambda part: part.component)
        return "+".join(part.version for part in ordered)


def combine(parts: Sequence[Part]) -> Combination:
    """Return the combination of the parts.

    Raise TunerError if a part sets nothing, or if two parts exclude each other: they belong to the same component, set
    the same variable, or were tuned for different jobs.
    """
    if not parts:
        raise TunerError("the combination is empty: name the settings that were measured together")
    for part in parts:
        if not part.environment:
            raise TunerError(f"{part.component}: sets nothing in jobs: leave it out of the combination")
    for one, other in combinations(parts, 2):
        if both := _both_decide(one, other):
            raise TunerError(
                f"the settings of {one.component} and {other.component} exclude each other, since both decide {both}: "
                "omit one of them"
            )
    return Combination(
        parts,
        {name: value for part in parts for name, value in part.environment.items()},
        list(dict.fromkeys(pattern for part in parts for pattern in part.conflicts)),
        merged_context([(part.component, part.context) for part in parts]),
    )


def publication(combination: Combination, comparison: Comparison, gain_of: str = "") -> Publication:
    """Return the publication of a measured combination.

    `comparison` has the results of alternating runs: with the combination's settings, and with the default. In runs
    with the default, Reprise is switched off, so that the application gets no settings for itself or for the cluster.
    `gain_of` describes the measured quantity if it is not the run time.
    """
    artifacts = [one for part in combination.parts for one in (part.artifact, *part.other_artifacts) if one]
    alone = artifacts[0] if len(artifacts) == 1 else None
    return Publication.of(
        comparison,
        parametrization={**_parametrization(combination), **({GAIN_OF: gain_of} if gain_of else {})},
        environment=combination.environment,
        conflicts=combination.conflicts,
        artifact=alone,
        note="; ".join(part.note for part in combination.parts if part.note),
        context=combination.context,
        component=combination.component,
        version=combination.version,
        other_artifacts=() if alone else artifacts,
    )


def _both_decide(one: Part, other: Part) -> str | None:
    """Return a variable or a component that both parts decide, or None."""
    if same := set(parts_of(one.component)) & set(parts_of(other.component)):
        return f"the component {min(same)}"
    return conflict((*one.conflicts, *one.environment), other.environment) or conflict(other.conflicts, one.environment)


def merged_context(named: Sequence[tuple[str, Json]]) -> Json:
    """Merge the contexts of named components' settings.

    Raise TunerError if the settings are for different jobs.
    """
    found: Json = {}
    for number, (name, context) in enumerate(named):
        earlier = ", ".join(before for before, _ in named[:number])
        found = _merged(found, context, earlier, name)
    return found


def _merged(one: Json, other: Json, mine: str, its: str) -> dict[str, Any]:
    """Merge two contexts; `mine` and `its` name the components of `one` and `other`, for messages.

    The result has only those releases of Open MPI that are in both contexts, and the larger of two amounts of memory,
    with which the settings of both components fit. The combination counts as predicted if one of its parts does.
    """
    found = {**one, **other}
    for key in one.keys() & other.keys():
        agreed: Any = one[key]
        if key == "openmpi":
            agreed = [release for release in one[key] if release in other[key]] or None
        elif key == "predicted":
            agreed = bool(one[key] or other[key])
        elif key == MEMORY and not isinstance(agreed, FromTrials) and not isinstance(other[key], FromTrials):
            agreed = 0 if 0 in (one[key], other[key]) else max(one[key], other[key])  # 0: all memory of a node
        elif isinstance(agreed, FromTrials):
            # `one` has a placeholder. In the trials, Slurm set the value that `other` was planned for.
            agreed = other[key]
        elif one[key] != other[key] and not isinstance(other[key], FromTrials):
            agreed = None
        if agreed is None:
            raise TunerError(
                f"{mine} and {its} are for different jobs, {key} {one[key]} and {other[key]}: tune them for the same "
                "jobs, or omit one of them"
            )
        found[key] = agreed
    return found


def _parametrization(combination: Combination) -> dict[str, Any]:
    """Return a record's parametrization, which has one form for any number of parts.

    A part that a benchmark tuned keeps the benchmark's results; the record's gain is that of the application's runs.
    """
    return {
        PARTS: {
            part.component: {
                "version": part.version,
                "parametrization": part.parametrization,
                **({ARTIFACT: part.artifact.sha256} if part.artifact else {}),
            }
            for part in combination.parts
        }
    }
