# SPDX-License-Identifier: Apache-2.0
"""Choose a setting for a campaign's configuration, which was never run, and define a campaign that verifies it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reprise.config import Config
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.components.application import ApplicationComponent
from reprise.tuner.definition import component_registry
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import size_of
from reprise.tuner.predict import train, training_rows
from reprise.tuner.predict.predicted_search import Found, Oracle, search


@dataclass(frozen=True)
class Choice:
    """The chosen setting, and the ids of the models that predicted its time."""

    found: Found
    models: Sequence[int]


def choose(database: TunerDatabase, definition: Definition, config: Config) -> Choice:
    """Return the setting that models predict to be the best for the campaign's application.

    Raise TunerError if the models must not be used, or if the campaign names no family, or if its objective has no
    parts.
    """
    described = component_registry.read(definition.component, config, definition.application)
    component = component_registry.build(described, definition.settings, config)
    problems = component.problems()
    family = definition.settings.get("family", "")
    if not isinstance(component, ApplicationComponent) or len(problems) != 1 or not family:
        raise TunerError(
            f"campaign {definition.name!r}: no prediction is possible: its component must be an "
            "application's, with something to tune, and its settings must name the `family`"
        )
    (problem,) = problems
    parts = component.description.objective.parts
    if not parts:
        raise TunerError(
            f"campaign {definition.name!r}: its objective has no parts, which models predict: set `objective.parts`"
        )
    known = train.newest(database, family, component.name, component.version)
    size = size_of(component, problems)
    weights = {part.name: part.weight for part in parts}
    oracle = Oracle(known, weights, training_rows.configuration(definition.settings, size))
    found = search(oracle, problem.space, problem.default)
    return Choice(found, [known[name].id for name, weight in weights.items() if weight])


def verification(definition: Definition, choice: Choice) -> Definition:
    """Return the campaign that verifies a choice: it measures and compares only the default and the chosen point."""
    settings: dict[str, Any] = {
        **definition.settings,
        "space": {name: [value] for name, value in choice.found.point.items()},
        "predicted": {"models": list(choice.models), "gain": choice.found.gain},
    }
    once = definition.search.model_copy(update={"method": "exhaustive", "budget": 1, "settings": {}})
    return definition.model_copy(update={"settings": settings, "search": once})
