# SPDX-License-Identifier: Apache-2.0
"""A combination: the settings of several components, measured together on the application, as one record.

`combine` says whether settings go together and what a job would be given, which is what the tuned runs must have;
`publication` is that with what these runs gained. A combination of one part is a record of that component. Pure.
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
from reprise.tuner.model.component import Comparison, FromTrials, Publication


@dataclass(frozen=True)
class Part:
    """The settings of one component, as its record or its publication has them: `environment` is what a job is given,
    `conflicts` are patterns of variables, and `context` says what they hold for."""

    component: str
    version: str
    parametrization: Json
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    context: Json = field(default_factory=dict)
    artifact: Artifact | None = None
    note: str = ""

    @classmethod
    def of_publication(cls, component: str, version: str, found: Publication) -> Part:
        """What a component's campaign would publish by itself."""
        return cls(
            component,
            version,
            found.parametrization,
            found.environment,
            found.conflicts,
            found.context,
            found.artifact,
            found.note,
        )


@dataclass(frozen=True)
class Combination:
    """Parts that go together, and what a job that has all of them is given."""

    parts: Sequence[Part]
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    context: Json

    @property
    def component(self) -> str:
        """The name of the record's component, `ompio+sro`."""
        return joint_name(name for part in self.parts for name in parts_of(part.component))

    @property
    def version(self) -> str:
        """The versions of the components, in the order of their names."""
        ordered = sorted(self.parts, key=lambda part: part.component)
        return "+".join(part.version for part in ordered)


def combine(parts: Sequence[Part]) -> Combination:
    """The combination of parts. Raises TunerError where two of them exclude each other: of one component, where both
    decide a variable, or tuned for different jobs."""
    if not parts:
        raise TunerError("a combination of nothing: name the settings that were measured together")
    for part in parts:
        if not part.environment:
            raise TunerError(f"{part.component}: gives jobs nothing: leave it out of the combination")
    for one, other in combinations(parts, 2):
        if both := _both_decide(one, other):
            raise TunerError(
                f"the settings of {one.component} and {other.component} exclude each other, both decide {both}: leave "
                "one of them out"
            )
    return Combination(
        parts,
        {name: value for part in parts for name, value in part.environment.items()},
        list(dict.fromkeys(pattern for part in parts for pattern in part.conflicts)),
        merged_context([(part.component, part.context) for part in parts]),
    )


def publication(combination: Combination, comparison: Comparison, gain_of: str = "") -> Publication:
    """What becomes the record of a combination that was measured.

    `comparison` is of the application with all of these settings against its default: runs in turn, the default with
    Reprise switched off, so without anything that is known of this application or cluster. `gain_of` says in words what
    was compared, where that is not the run time.
    """
    artifacts = [part.artifact for part in combination.parts if part.artifact]
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
    """A variable, or a component, that is decided by both."""
    if same := set(parts_of(one.component)) & set(parts_of(other.component)):
        return f"the component {min(same)}"
    return conflict((*one.conflicts, *one.environment), other.environment) or conflict(other.conflicts, one.environment)


def merged_context(named: Sequence[tuple[str, Json]]) -> Json:
    """Merge what the settings of components, with their names, hold for. Raises TunerError where that is different
    jobs."""
    found: Json = {}
    for number, (name, context) in enumerate(named):
        earlier = ", ".join(before for before, _ in named[:number])
        found = _merged(found, context, earlier, name)
    return found


def _merged(one: Json, other: Json, mine: str, its: str) -> dict[str, Any]:
    """What holds for both. Of releases of Open MPI, those that both are harmless to; a part that was predicted makes
    the whole a prediction that was confirmed."""
    found = {**one, **other}
    for key in one.keys() & other.keys():
        agreed: Any = one[key]
        if key == "openmpi":
            agreed = [release for release in one[key] if release in other[key]] or None
        elif key == "predicted":
            agreed = bool(one[key] or other[key])
        elif isinstance(agreed, FromTrials):
            agreed = other[key]  # what another part was planned for is what its trials had
        elif one[key] != other[key] and not isinstance(other[key], FromTrials):
            agreed = None
        if agreed is None:
            raise TunerError(
                f"{mine} and {its} are for different jobs, {key} {one[key]} and {other[key]}: have them for the same, "
                "or leave one of them out"
            )
        found[key] = agreed
    return found


def _parametrization(combination: Combination) -> dict[str, Any]:
    """Of a single part as of several: what a benchmark said of it stays with the part, and the gain is the run's."""
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
