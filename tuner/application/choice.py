# SPDX-License-Identifier: Apache-2.0
"""Choice of the components to try on an application, based on its profile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, zip_longest
from typing import Any

from reprise.config import Config
from reprise.tuner.application.tried_calls import tried_calls
from reprise.tuner.application.tried_values import tried_presets, tried_space
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
"""Name in a profile for work that cannot be attributed to a more specific operation."""


@dataclass(frozen=True)
class Choice:
    """Components and values to try on an application.

    `components`: settings of each component, in the form that the component `together` expects. `points`: changes to
    try, in order; each contains one value, or the values of one preset. `left_out`: for each suggested component
    that cannot be tried, one line with the reason. `reads`: files that must not be in memory when a trial starts.
    `proofs`: maximum number of application runs that a winner needs before its record is written. `communicating`:
    components that affect communication, which a proxy replays.
    """

    components: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    points: Sequence[Mapping[str, Value]] = ()
    left_out: Sequence[str] = ()
    reads: Sequence[str] = ()
    proofs: int = 0
    communicating: Collection[str] = ()

    def on_proxy(self) -> Choice:
        """Return the choice with only the components that a replay can rank.

        A replay only sends messages, so it cannot rank components that do not affect communication.
        """
        return self._only([name for name in self.components if name in self.communicating])

    def off_proxy(self) -> Choice:
        """Return the choice with only the components that a replay cannot rank."""
        return self._only([name for name in self.components if name not in self.communicating])

    def _only(self, names: Collection[str]) -> Choice:
        return replace(
            self,
            components={name: self.components[name] for name in names},
            points=[point for point in self.points if all(axis.startswith(_of(names)) for axis in point)],
        )


def _of(names: Iterable[str]) -> tuple[str, ...]:
    """Return, for each component, the prefix of its axes' names."""
    return tuple(f"{name}." for name in names)


def choose(
    profile: Profile,
    verdicts: Sequence[Verdict],
    workload: Workload,
    config: Config,
    knows_option: Callable[[str], bool],
) -> Choice:
    """Return the choice of worthwhile components that this application's jobs can use.

    `knows_option` reports whether sbatch has an option with a given name. Components that affect specific operations
    come before those that affect any computation; within each group, those that affect the largest share of the run
    time come first. The points begin with the first preset or value of each component, followed by the second of each,
    and so on. If all values of a component came first, a component with many values could use up all runs.
    """
    components: dict[str, Mapping[str, Any]] = {}
    alone: list[list[Mapping[str, Value]]] = []
    ingredients, left_out = [], []
    worth = [verdict for verdict in verdicts if verdict.worth]
    for verdict in sorted(worth, key=lambda one: (EVERYTHING in one.names, -one.share)):
        try:
            settings, ingredient, presets = _tried(verdict.component, profile, workload, config, knows_option)
        except TunerError as error:
            left_out.append(f"{verdict.component}: {error}")
            continue
        components[verdict.component] = settings
        alone.append([*_prefixed(ingredient, presets), *_alone(ingredient)])
        ingredients.append(ingredient)
    in_turn = zip_longest(*alone)
    points = [point for points in in_turn for point in points if point is not None]
    communicating = [one.component for one in worth if _communicates(one)]
    return Choice(components, points, left_out, cold(profile), _proofs(ingredients), communicating)


def _communicates(verdict: Verdict) -> bool:
    return any(touched_names.touches(ours, name) for ours in (COLLECTIVE, P2P) for name in verdict.names)


def cold(profile: Profile) -> list[str]:
    """Return the files to drop from memory before each run: all that the application reads, if they are large."""
    return [one.path for one in profile.inputs] if sum(one.bytes for one in profile.inputs) >= cold_files.LEAST else []


def _proofs(ingredients: Sequence[Ingredient]) -> int:
    """Return the maximum number of proof runs that a winner may need: one for each component that must be proved.

    Components that exclude each other are never in one winner.
    """
    proved = [one for one in ingredients if one.proved]
    groups = (group for count in range(1, len(proved) + 1) for group in combinations(proved, count))
    return max((len(group) for group in groups if not any(exclude(*two) for two in combinations(group, 2))), default=0)


def _tried(
    name: str, profile: Profile, workload: Workload, config: Config, knows_option: Callable[[str], bool]
) -> tuple[Mapping[str, Any], Ingredient, Sequence[Mapping[str, Value]]]:
    """Return a component's settings, the ingredient built from them, and the component's presets.

    Raise TunerError if the component cannot be tried.
    """
    definition = component_registry.read(name, config)
    if definition["kind"] == "collectives":
        calls = _of_collectives(profile, workload)
        return calls, rules_ingredient.build(definition, calls, workload, config), ()
    if definition["kind"] != "application":
        raise TunerError(f"components of kind {definition['kind']} cannot be tuned together with others")
    if needs := definition.get("needs"):
        raise TunerError(f"needs {', '.join(needs)}: run a separate campaign with these settings")
    described = read(definition, {})
    for option in (word.partition("=")[0] for word in described.activation.options):
        if not knows_option(option):
            raise TunerError(f"sbatch has no option --{option} here: install the plugin that provides it")
    given = parts(described, {one.key: one.default for one in described.parameters})
    if missing := out_of_jobs_reach(of_its_own(workload.script, workload.options, given), given):
        raise TunerError(
            f"no job can be given {'; '.join(missing)}, and its settings require that: write it into the script, or "
            "run a separate campaign"
        )
    space = tried_space(described)
    if not space:
        raise TunerError(
            "has no parameter that the plugin can set in jobs by an environment variable: run a separate campaign"
        )
    if definition.get("before_reads") and not cold(profile):
        raise TunerError(
            f"acts on files that are not in memory, but the application reads less than {cold_files.LEAST >> 20} "
            "MiB of large files: nothing to try"
        )
    settings = {"space": space}
    return settings, described_ingredient.build(definition, settings, workload, config), tried_presets(described)


def _of_collectives(profile: Profile, workload: Workload) -> dict[str, Any]:
    calls = tried_calls(profile, CATALOGUE)
    if not calls:
        raise TunerError("no collective takes enough time on a communicator of all ranks: nothing to try")
    if not profile.is_even or profile.ranks % profile.nodes:
        raise TunerError(f"{profile.layout}: rules need an equal number of ranks on each node")
    nodes, each = _size(profile, workload)
    if (nodes, each) != (profile.nodes, profile.ranks / profile.nodes):
        raise TunerError(
            f"{profile.ranks} ranks ran on {profile.nodes} nodes, but the job asks for {nodes} with {each:g} tasks on "
            "each, so its jobs would not get the rules: request as many tasks as the script starts"
        )
    return {
        "nodes": profile.nodes,
        "tasks_per_node": profile.ranks // profile.nodes,
        "calls": [one.model_dump() for one in calls],
    }


def _size(profile: Profile, workload: Workload) -> tuple[int, float]:
    """Return a job's nodes and tasks per node as the matcher sees them, with the profile's values as defaults."""
    job = workload.job
    nodes = job.nodes or profile.nodes
    return nodes, job.tasks_per_node or (job.tasks or profile.ranks) / nodes


def _prefixed(ingredient: Ingredient, presets: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
    """Return the presets as points, with the names that the parameters have when components are tuned together."""
    return [{f"{ingredient.name}.{key}": value for key, value in preset.items()} for preset in presets]


def _alone(ingredient: Ingredient) -> list[Mapping[str, Value]]:
    """Return points that change one value each: the first value of each axis, then the second, and so on.

    Changes that have no effect without another change are omitted.
    """
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
