# SPDX-License-Identifier: Apache-2.0
"""Ingredient of joint tuning for a component that a component file describes; the ingredient's default sets nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.tuner.components import application
from reprise.tuner.components.application import APPLICATION, ApplicationComponent, Workload
from reprise.tuner.components.component_file import check
from reprise.tuner.components.described_component import Via
from reprise.tuner.components.trial_inputs import parts
from reprise.tuner.components.user_script import of_its_own
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Comparison, Publication, Runner, TrialOutput, TrialPlan
from reprise.tuner.model.space import Parametrization
from reprise.tuner.together.ingredient import Ingredient


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], workload: Workload, config: Config) -> Ingredient:
    """Return the ingredient; `space` in `settings` has the values to try for each parameter to tune.

    Raise TunerError if the settings are invalid.
    """
    file = check(definition)
    wanted = settings.get("space", {})
    space = {
        key: list(dict.fromkeys([section.default, *wanted.get(key, [])])) for key, section in file.parameters.items()
    }
    unknown = wanted.keys() - file.parameters.keys()
    if unknown:
        raise TunerError(
            f"settings: components: {file.name}: {min(unknown)!r} is not a parameter of this component: leave it out"
        )
    job = {APPLICATION: dataclasses.asdict(workload)}
    component = application.build({**definition, **job}, {**settings, "space": space}, config)
    return DescribedIngredient(component)


class DescribedIngredient:
    """Implementation of `Ingredient` for a described component."""

    def __init__(self, component: ApplicationComponent) -> None:
        self.name = component.name
        self.version = component.version
        self.space = component.space
        self.default = component.default
        described = component.description
        own = [one.name for one in described.parameters if one.via is Via.ENVIRONMENT]
        activation = described.activation
        self.names: Sequence[str] = [
            *own,
            *activation.environment,
            *filter(None, [activation.hints, activation.hint_list]),
        ]
        self.conflicts: Sequence[str] = described.conflicts
        self.proved = bool(described.verify)
        self._component = component

    def context(self) -> Mapping[str, object]:
        """Return the context of the settings, including the parts that only trials can determine."""
        return {**self._component.context(), **self._component.by_trials()}

    def add(self, plan: TrialPlan, point: Parametrization) -> TrialPlan:
        """Return the plan with the settings of a point added."""
        own = self._component.given(plan.script or "", point)
        return dataclasses.replace(
            plan,
            script=own.script,
            environment={**plan.environment, **own.environment},
            files={**plan.files, **own.files},
            options=[*plan.options, *own.options],
            directives=[*plan.directives, *own.directives],
            before="\n".join(filter(None, [plan.before, own.before])),
            preload=list(dict.fromkeys([*plan.preload, *own.preload])),
        )

    def check(self, output: TrialOutput) -> None:
        """Verify that the settings were in effect in a trial."""
        self._component.verify(output)

    def remarks(self) -> Sequence[str]:
        """Return remarks about the trials that were checked, one line each."""
        return self._component.review({}, [])

    def publish(self, comparison: Comparison, run: Runner, artifacts: Path) -> Publication | None:
        """Return the publication of a winner, which was compared with runs that had only the script's own options."""
        given = parts(self._component.description, comparison.winner)
        workload = self._component.workload
        before = of_its_own(workload.script, workload.options, given)
        return self._component.published(comparison, before, run, artifacts)
