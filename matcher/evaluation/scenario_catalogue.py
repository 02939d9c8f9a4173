# SPDX-License-Identifier: Apache-2.0
"""Scenarios by name, and the evaluation of a model on one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reprise.matcher.evaluation import hard_scenario, thesis_scenario
from reprise.matcher.evaluation.evaluation_report import Report
from reprise.matcher.evaluation.measurement import answers
from reprise.matcher.evaluation.scenario import Scenario
from reprise.matcher.linkage import Model

SCENARIOS: dict[str, Callable[[int], Scenario]] = {
    "thesis": thesis_scenario.generate,
    "thesis-256": partial(thesis_scenario.generate, cluster_nodes=256),
    "hard": hard_scenario.generate,
}
"""The function that generates a site from a seed, for each scenario's name."""


def evaluate(model: Model, name: str, seeds: int) -> Report:
    """Evaluate `model` on the scenario `name` with the seeds 0 to `seeds` - 1, and return the report."""
    found = answers(model, SCENARIOS[name], range(seeds))
    return Report(name, model.label, model.threshold, seeds, tuple(found))
