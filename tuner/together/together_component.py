# SPDX-License-Identifier: Apache-2.0
"""Several components tuned as one: an application's runs with settings of all of them are compared with default runs.

A point names each parameter as COMPONENT.PARAMETER. The result is one publication with the settings of the components
that the winner changes. No gain is claimed for any single component.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database.entities import Measurement
from reprise.database.joint_component import JOINT, joint_name
from reprise.tuner.components import cold_files, objective
from reprise.tuner.components.application import APPLICATION, Workload
from reprise.tuner.components.component_file import objective_of
from reprise.tuner.components.job_size import tasks_on_each
from reprise.tuner.components.publication import gain_of
from reprise.tuner.errors import CampaignFailedError, NotInEffectError, TunerError
from reprise.tuner.model.component import (
    Comparison,
    Component,
    FromTrials,
    Problem,
    Publication,
    Runner,
    Sample,
    TrialOutput,
    TrialPlan,
)
from reprise.tuner.model.space import Parametrization, Space, Value
from reprise.tuner.search import grid_points
from reprise.tuner.together import described_ingredient, rules_ingredient, together_settings
from reprise.tuner.together.combination import Part, combine, merged_context, publication
from reprise.tuner.together.ingredient import Ingredient, exclude

COMPONENTS = "components"  # key of the components' definitions, see `component_registry`
PROXY = "proxy"  # key of the proxy's script in the component's definition
GIVEN_FILE = "given-components"  # file in a trial's directory: names of the components that its point sets
INGREDIENTS = {"application": described_ingredient.build, "collectives": rules_ingredient.build}
"""Functions that build an ingredient, by the component's kind."""


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> Component:
    """Return the component for a campaign.

    Raise TunerError with a one-line message if the definition or the settings are invalid.
    """
    checked = together_settings.read(settings)
    if APPLICATION not in definition:
        raise TunerError("component together: needs an application: name its script and user in the campaign")
    workload = Workload(**definition[APPLICATION])
    ingredients = []
    for name, own in checked.components.items():
        part = definition[COMPONENTS][name]
        if checked.reads or definition.get(PROXY):
            part = _without_dropping(part, own)
        if part["kind"] not in INGREDIENTS:
            raise TunerError(
                f"settings: components: {name}: components of kind {part['kind']} cannot be tuned together with "
                "others: leave it out"
            )
        ingredients.append(INGREDIENTS[part["kind"]](part, {**_sizes(checked), **own}, workload, config))
    return TogetherComponent(ingredients, workload, checked, definition.get(PROXY, ""))


def _sizes(settings: together_settings.Settings) -> dict[str, int]:
    """Return the numbers of nodes and tasks per node that the settings give."""
    return {key: value for key in ("nodes", "tasks_per_node") if (value := getattr(settings, key)) is not None}


def _without_dropping(definition: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a component's definition without the commands that drop files from the page cache.

    In a campaign for several components, each trial drops the application's files. A replay, which may run instead of
    the application, reads no files. If the component's `own` settings have `reads`, the commands are kept.
    """
    if not definition.get("before_reads") or own.get("reads"):
        return definition
    return {key: value for key, value in definition.items() if key not in ("before", "before_reads")}


class TogetherComponent:
    """Implementation of `Component` for several components.

    It has one problem, the application.
    """

    def __init__(
        self,
        ingredients: Sequence[Ingredient],
        workload: Workload,
        settings: together_settings.Settings,
        proxy: str = "",
    ) -> None:
        """Create the component; `proxy` is a script that replaces the application's in trials.

        Raise TunerError if the ingredients are for different jobs, since the settings of two such ingredients cannot
        become one record.
        """
        self.name = joint_name(one.name for one in ingredients)
        self.version = JOINT.join(one.version for one in sorted(ingredients, key=lambda one: one.name))
        self.workload = workload
        self._ingredients = ingredients
        self._timeout_s = settings.timeout_s
        self._reads = [str(path) for path in settings.reads]
        self._proxy = proxy
        self._objective = objective_of(settings.objective)
        job = workload.job
        self._nodes = settings.nodes or job.nodes or 1
        self._tasks_per_node = settings.tasks_per_node or tasks_on_each(job, self._nodes)
        self._default = {
            _axis(one, parameter.name): one.default[parameter.name]
            for one in ingredients
            for parameter in one.space.parameters
        }
        axes = [
            dataclasses.replace(parameter, name=_axis(one, parameter.name))
            for one in ingredients
            for parameter in one.space.parameters
        ]
        self._space = Space(axes, self._canonical)
        self._first = [self._point(partial) for partial in settings.first]
        self._context = _context(ingredients, _sizes(settings))

    def context(self) -> Mapping[str, object]:
        """Return the context of the campaign, merged from the contexts of all ingredients."""
        return self._context

    def problems(self) -> Sequence[Problem]:
        """Return the application as the only problem, or no problem if every parameter has only one value."""
        if all(len(axis.values) == 1 for axis in self._space.parameters):
            return []
        return [Problem(Path(self.workload.path).name, self._space, self._default, self._first)]

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Plan a run of the application with the settings of a point."""
        plan = TrialPlan(
            argv=[],
            nodes=self._nodes,
            tasks_per_node=self._tasks_per_node,
            timeout_s=self._timeout_s,
            script=self._proxy or self.workload.script,
            work_directory=self.workload.directory,
            options=self.workload.options,
            before=cold_files.command(self._reads) if self._reads else "",
        )
        changed = self._changed(parametrization)
        for one, point in changed:
            plan = one.add(plan, point)
        given = "".join(f"{one.name}\n" for one, _ in changed)
        return dataclasses.replace(plan, files={**plan.files, GIVEN_FILE: given})

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Check that the settings were in effect, and read the objective.

        Raise NotInEffectError if the settings were not in effect.
        """
        if output.directory is not None:
            given = (output.directory / GIVEN_FILE).read_text(encoding="utf-8").split()
            for one in self._ingredients:
                if one.name in given:
                    _check(one, output)
        return objective.read(self._objective, output, self.workload.directory, None)

    def review(self, defaults: Mapping[str, Measurement], comparisons: Sequence[Comparison]) -> Sequence[str]:
        """Return the ingredients' remarks about the trials that had their settings."""
        return list(dict.fromkeys(f"{one.name}: {line}" for one in self._ingredients for line in one.remarks()))

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Return one publication with the settings of all components that the winner changes."""
        (comparison,) = comparisons
        if self._proxy or comparison.gain_low <= 0:
            return []
        parts = []
        for one, point in self._changed(comparison.winner):
            own = one.publish(dataclasses.replace(comparison, winner=point), run, artifacts)
            if own is None or not own.environment:
                return [_not_given(comparison, own.note if own else "")]
            holds_for = {**one.context(), **own.context}
            parts.append(Part.of_publication(one.name, one.version, dataclasses.replace(own, context=holds_for)))
        return [publication(combine(parts), comparison, gain_of(self._objective))]

    def _changed(self, point: Parametrization) -> list[tuple[Ingredient, Parametrization]]:
        """Return the components that a point changes, each with its part of the point."""
        canonical = self._space.canonical(point)
        split = [(one, _own(one, canonical)) for one in self._ingredients]
        return [(one, own) for one, own in split if one.space.key(own) != one.space.key(one.default)]

    def _point(self, partial: Mapping[str, Any]) -> Parametrization:
        """Return a partial point, completed with the values of the default.

        Raise TunerError if the point is not on the grid.
        """
        point = {**self._default, **partial}
        if point.keys() != self._default.keys() or not grid_points.holds(self._space, point):
            raise TunerError(f"settings: first: {dict(partial)} is not a point of the space: correct it")
        return point

    def _canonical(self, point: Parametrization) -> Parametrization:
        """Return the canonical point. If two components exclude each other, the second one has its default."""
        found: dict[str, Value] = {}
        used: list[Ingredient] = []
        for one in self._ingredients:
            own = one.space.canonical(_own(one, point))
            if one.space.key(own) != one.space.key(one.default):
                if any(exclude(one, other) for other in used):
                    own = one.space.canonical(one.default)
                else:
                    used.append(one)
            found |= {_axis(one, name): value for name, value in own.items()}
        return found


def _context(ingredients: Sequence[Ingredient], sizes: Mapping[str, int]) -> Mapping[str, object]:
    """Return the merged context of all ingredients for an application that runs on `sizes` (nodes, tasks per node).

    Raise TunerError if the contexts contradict each other or the sizes.
    """
    named = [(one.name, dict(one.context())) for one in ingredients]
    try:
        for name, own in named:
            merged_context(
                [("the campaign", dict(sizes)), (name, {key: own[key] for key in sizes.keys() & own.keys()})]
            )
        merged = merged_context(named)
    except TunerError as error:
        raise TunerError(f"settings: components: {error}") from error
    found = {name: one.otherwise if isinstance(one, FromTrials) else one for name, one in merged.items()}
    return {name: one for name, one in found.items() if one is not None}


def _check(one: Ingredient, output: TrialOutput) -> None:
    """Raise NotInEffectError if the settings of the ingredient were not in effect in a trial.

    Only this trial fails, and the search continues.
    """
    try:
        one.check(output)
    except CampaignFailedError as error:
        raise NotInEffectError(str(error)) from error


def _axis(one: Ingredient, name: str) -> str:
    return f"{one.name}.{name}"


def _own(one: Ingredient, point: Parametrization) -> Parametrization:
    return {parameter.name: point[_axis(one, parameter.name)] for parameter in one.space.parameters}


def _not_given(comparison: Comparison, note: str) -> Publication:
    """Return an empty publication for a winner whose settings cannot all be given to jobs; `note` is the reason."""
    return Publication.of(
        comparison,
        parametrization={},
        environment={},
        conflicts=(),
        note=note,
    )
