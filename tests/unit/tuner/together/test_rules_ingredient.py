# SPDX-License-Identifier: Apache-2.0
"""Test to which jobs rules for Open MPI's collectives apply if the rules were tuned together with other settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.config import Config
from reprise.tuner.components.application import Workload
from reprise.tuner.model.component import Comparison, TrialOutput, TrialPlan
from reprise.tuner.openmpi.rules_channel import RulesChannel
from reprise.tuner.together import rules_ingredient
from reprise.tuner.together.ingredient import Ingredient
from tests.unit.collectives_values import BUILD, comparison, open_mpi

AXIS = "bcast/8-4096"


def ingredient(monkeypatch: pytest.MonkeyPatch, tasks_per_node: int, *options: str) -> Ingredient:
    monkeypatch.setattr(RulesChannel, "installed", lambda _: RulesChannel.of(BUILD, ()))
    script = "#!/bin/bash\n" + "".join(f"#SBATCH {one}\n" for one in options) + "srun ./solve\n"
    settings = {
        "calls": [{"collective": "bcast", "low": 8, "high": 4096}],
        "nodes": 2,
        "tasks_per_node": tasks_per_node,
    }
    workload = Workload("/home/alice/solve.sh", script, "/home/alice")
    return rules_ingredient.build({"name": "rules", "version": "1"}, settings, workload, Config())


@pytest.mark.parametrize(
    ("tasks", "options", "placement"),
    [
        (8, ["-N 2 --ntasks-per-node=8 --distribution=cyclic"], "node"),
        (8, ["-N 2 --ntasks-per-node=8", "-m cyclic:block"], "node"),
        (8, ["-N 2 --ntasks-per-node=8 --distribution=block"], None),
        (8, ["-N 2 --ntasks-per-node=8"], None),
        (1, ["-N 2 --distribution=cyclic"], None),  # one task per node, so the distribution does not matter
    ],
)
def test_rules_apply_to_jobs_that_place_their_tasks_as_the_application_does(
    monkeypatch: pytest.MonkeyPatch, place: Path, tasks: int, options: list[str], placement: str | None
) -> None:
    made = ingredient(monkeypatch, tasks, *options)
    assert made.context().get("placement") == placement
    proofs = []

    def run(plan: TrialPlan) -> TrialOutput:
        proofs.append(plan.placement)
        return open_mpi()(plan)

    measured = comparison("solve.sh", 0, 0.5, 0.3, 0.7)
    winner = Comparison("solve.sh", {AXIS: "binomial"}, measured.default, measured.tuned, 0.5, 0.3, 0.7)
    found = made.publish(winner, run, place / "artifacts")
    assert found and found.artifact
    assert ("placed by node" in Path(found.artifact.path).read_text()) == bool(placement)
    assert set(proofs) == {placement or ""}
