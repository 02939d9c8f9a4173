# SPDX-License-Identifier: Apache-2.0
"""The scenarios by name, and the evaluation of a model on one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from matcher.evaluation import hard, thesis
from matcher.evaluation.measure import answers
from matcher.evaluation.report import Report
from matcher.evaluation.scenario import Scenario
from matcher.linkage import Model

SCENARIOS: dict[str, Callable[[int], Scenario]] = {
    "thesis": thesis.generate,
    "thesis-256": partial(thesis.generate, cluster_nodes=256),
    "hard": hard.generate,
}
"""By name, from a seed to a site."""


def evaluate(model: Model, name: str, seeds: int) -> Report:
    """`model` on scenario `name`, with seeds 0 to `seeds` - 1."""
    found = answers(model, SCENARIOS[name], range(seeds))
    return Report(name, model.label, model.threshold, seeds, tuple(found))
