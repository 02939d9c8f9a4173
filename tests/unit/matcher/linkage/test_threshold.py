# SPDX-License-Identifier: Apache-2.0
"""Test the thresholds of the shipped models: their match rates, and that the documents agree with the model files."""

from __future__ import annotations

import pytest

from reprise.matcher.evaluation.scenario_catalogue import evaluate
from reprise.matcher.linkage import load
from tests.places import ROOT

PAGE = (ROOT / "docs/reference/evaluation-tables.md").read_text().split("## The model `thesis`")[1]
THESIS = load("thesis")
SCENARIOS = ("thesis", "thesis-256")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_most_jobs_of_colleagues_and_few_of_strangers_match(scenario: str) -> None:
    kinds = evaluate(THESIS, scenario, seeds=4).kinds()
    assert (kinds["again"].right_application.value or 0) > 0.99
    assert (kinds["colleague"].right_application.value or 0) > 2 / 3
    assert (kinds["stranger"].unknown_matched.value or 0) < 0.02


@pytest.mark.slow
def test_the_default_model_matches_known_applications_and_hardly_any_unknown_ones() -> None:
    found = evaluate(load("site"), "thesis", seeds=3).measures
    assert (found.right_application.value or 0) >= 0.99
    assert (found.right_nodes.value or 0) >= 0.95
    assert (found.unknown_matched.value or 0) <= 0.01
    hard = evaluate(load("site"), "hard", seeds=3).measures
    assert (hard.right_application.value or 0) > 0.9 and (hard.unknown_matched.value or 0) < 0.05


def test_the_document_states_the_models_threshold() -> None:
    assert f"The threshold is **{THESIS.threshold}**" in (ROOT / "docs/explanation/linkage.md").read_text()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_models_evidence_equals_the_documents(scenario: str) -> None:
    assert f"<!-- {THESIS.evidence['source']} --markdown -->" in PAGE
    rows = PAGE.split(f"**{scenario}: by kind of job**\n\n")[1].split("\n\n")[0].splitlines()[2:]
    stated = {}
    for kind, _, _, right, _, unknown in (row.strip("| ").split(" | ") for row in rows):
        stated[kind.replace(" ", "_")] = float((unknown if right == "-" else right).split()[0])
    del stated["left_out"]
    assert stated == THESIS.evidence[scenario]
