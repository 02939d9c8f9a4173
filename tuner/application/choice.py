# SPDX-License-Identifier: Apache-2.0
"""What is tried on an application: the components that its profile shows something for, and of them only that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, zip_longest
from typing import Any

from reprise.config import Config
from reprise.tuner.application.tried_calls import tried_calls
from reprise.tuner.application.tried_values import tried_space
from reprise.tuner.components import cold_files
from reprise.tuner.components.application import Workload
from reprise.tuner.components.component_file import read
from reprise.tuner.components.publication import out_of_jobs_reach
from reprise.tuner.components.trial_inputs import parts
from reprise.tuner.components.user_script import of_its_own
from reprise.tuner.definition import component_registry
from reprise.tuner.errors import TunerError
from reprise.tuner.model import touched_names
from reprise.tuner.model.space import Value
from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.profile.profile_values import COLLECTIVE, P2P, Profile
from reprise.tuner.profile.verdicts import Verdict
from reprise.tuner.together import described_ingredient, rules_ingredient
from reprise.tuner.together.ingredient import Ingredient, exclude

EVERYTHING = "compute"
"""What a profile calls all that it shows nothing more exact of."""


@dataclass(frozen=True)
class Choice:
    """`components`: the settings of each, as the component `together` takes them. `points`: each value to try alone, in
    the order in which they are tried: what differs from the default. `left_out`: why the others are not tried that the
    profile shows something for, a line each. `reads`: files that no trial may find in memory. `proofs`: runs of the
    application that a winner takes at most before its record is written. `communicating`: the components that act on
    what a proxy replays."""

    components: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    points: Sequence[Mapping[str, Value]] = ()
    left_out: Sequence[str] = ()
    reads: Sequence[str] = ()
    proofs: int = 0
    communicating: Collection[str] = ()

    def on_proxy(self) -> Choice:
        """Keep what a replay can rank, which sends messages and does nothing else."""
        return self._only([name for name in self.components if name in self.communicating])

    def off_proxy(self) -> Choice:
        """Keep what only the application's own runs can rank."""
        return self._only([name for name in self.components if name not in self.communicating])

    def _only(self, names: Collection[str]) -> Choice:
        return replace(
            self,
            components={name: self.components[name] for name in names},
            points=[point for point in self.points if all(axis.startswith(_of(names)) for axis in point)],
        )


def _of(names: Iterable[str]) -> tuple[str, ...]:
    """Beginnings of the axes of components."""
    return tuple(f"{name}." for name in names)


def choose(
    profile: Profile,
    verdicts: Sequence[Verdict],
    workload: Workload,
    config: Config,
    knows_option: Callable[[str], bool],
) -> Choice:
    """Choose what is tried of the components that are worth it, as far as they can be given to this application.

    `knows_option` says whether sbatch has an option of a name. Components that touch something of their own come before
    those that touch whatever is computed, the largest share first. They take turns with their values: one component may
    have many, and the runs end before all were tried.
    """
    components: dict[str, Mapping[str, Any]] = {}
    alone: list[list[Mapping[str, Value]]] = []
    ingredients, left_out = [], []
    worth = [verdict for verdict in verdicts if verdict.worth]
    for verdict in sorted(worth, key=lambda one: (EVERYTHING in one.names, -one.share)):
        try:
            settings, ingredient = _tried(verdict.component, profile, workload, config, knows_option)
        except TunerError as error:
            left_out.append(f"{verdict.component}: {error}")
            continue
        components[verdict.component] = settings
        alone.append(_alone(ingredient))
        ingredients.append(ingredient)
    in_turn = zip_longest(*alone)
    points = [point for points in in_turn for point in points if point is not None]
    communicating = [one.component for one in worth if _communicates(one)]
    return Choice(components, points, left_out, cold(profile), _proofs(ingredients), communicating)


def _communicates(verdict: Verdict) -> bool:
    return any(touched_names.touches(ours, name) for ours in (COLLECTIVE, P2P) for name in verdict.names)


def cold(profile: Profile) -> list[str]:
    """The files that no run may find in memory: all that the application reads, where that is much."""
    return [one.path for one in profile.inputs] if sum(one.bytes for one in profile.inputs) >= cold_files.LEAST else []


def _proofs(ingredients: Sequence[Ingredient]) -> int:
    """How many of them a winner may have that are proved by a run each: none that exclude each other."""
    proved = [one for one in ingredients if one.proved]
    groups = (group for count in range(1, len(proved) + 1) for group in combinations(proved, count))
    return max((len(group) for group in groups if not any(exclude(*two) for two in combinations(group, 2))), default=0)


def _tried(
    name: str, profile: Profile, workload: Workload, config: Config, knows_option: Callable[[str], bool]
) -> tuple[Mapping[str, Any], Ingredient]:
    """The settings of a component, and what they make of it. Raises TunerError where it cannot be tried."""
    definition = component_registry.read(name, config)
    if definition["kind"] == "collectives":
        calls = _of_collectives(profile, workload)
        return calls, rules_ingredient.build(definition, calls, workload, config)
    if definition["kind"] != "application":
        raise TunerError(f"of kind {definition['kind']}: cannot be tried together with others")
    if needs := definition.get("needs"):
        raise TunerError(f"needs {', '.join(needs)}: run a campaign of its own with these settings")
    described = read(definition, {})
    for option in (word.partition("=")[0] for word in described.activation.options):
        if not knows_option(option):
            raise TunerError(f"sbatch has no option --{option} here: install what brings it")
    given = parts(described, {one.key: one.default for one in described.parameters})
    if missing := out_of_jobs_reach(of_its_own(workload.script, workload.options, given), given):
        raise TunerError(
            f"no job can be given {'; '.join(missing)}, and its settings count with that: write it into the script, or "
            "run a campaign of its own"
        )
    space = tried_space(described)
    if not space:
        raise TunerError(
            "has no parameter that jobs could be given, by a variable that the plugin sets: run a campaign of its own"
        )
    if definition.get("before_reads") and not cold(profile):
        raise TunerError(
            f"acts on files that are not in memory, and the application reads less than {cold_files.LEAST >> 20} "
            "MiB of large files: nothing to try"
        )
    settings = {"space": space}
    return settings, described_ingredient.build(definition, settings, workload, config)


def _of_collectives(profile: Profile, workload: Workload) -> dict[str, Any]:
    calls = tried_calls(profile, CATALOGUE)
    if not calls:
        raise TunerError(
            "what it spends there is in small pieces, or in communicators of few of its ranks: nothing to try"
        )
    if not profile.is_even or profile.ranks % profile.nodes:
        raise TunerError(f"{profile.layout}: rules hold for as many ranks on each node")
    nodes, each = _size(profile, workload)
    if (nodes, each) != (profile.nodes, profile.ranks / profile.nodes):
        raise TunerError(
            f"{profile.ranks} ranks ran on {profile.nodes} nodes, and the job asks for {nodes} with {each:g} tasks on "
            "each: its jobs would be refused the rules: ask for the tasks that are started"
        )
    return {
        "nodes": profile.nodes,
        "tasks_per_node": profile.ranks // profile.nodes,
        "calls": [one.model_dump() for one in calls],
    }


def _size(profile: Profile, workload: Workload) -> tuple[int, float]:
    """The nodes of a job and its tasks on each, as the matcher takes them; the profile's where it does not say."""
    job = workload.job
    nodes = job.nodes or profile.nodes
    return nodes, job.tasks_per_node or (job.tasks or profile.ranks) / nodes


def _alone(ingredient: Ingredient) -> list[Mapping[str, Value]]:
    """Each value that is not the default alone: the first of each axis, then the second of each. What does not count
    without another change is left out."""
    default, space = ingredient.default, ingredient.space
    columns = [
        [(axis.name, value) for value in axis.values if value != default[axis.name]] for axis in space.parameters
    ]
    changes = [one for row in zip_longest(*columns) for one in row if one is not None]
    return [
        {f"{ingredient.name}.{name}": value}
        for name, value in changes
        if space.key({**default, name: value}) != space.key(default)
    ]
