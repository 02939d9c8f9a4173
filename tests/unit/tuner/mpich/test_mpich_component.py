# SPDX-License-Identifier: Apache-2.0
"""Test the component mpich-collectives: its problems, trials, objective, and publication."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprise.allowlist import is_allowed, is_reported
from reprise.config import Config
from reprise.database.entities import Measurement
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import Comparison, TrialOutput, Wanted
from reprise.tuner.mpich import mpich_settings
from reprise.tuner.mpich.mpich_component import BUILT_IN, CONFLICTS, MpichComponent
from reprise.tuner.mpich.selection_reader import Call, selected
from tests.places import ROOT
from tests.unit.mpich_values import FILE, LIBRARY, mpich

SETTINGS = {"collectives": ["bcast", "allreduce"], "sizes": [65536, 8, 1024], "nodes": 4}


def make(config: dict[str, Any] | None = None, **settings: Any) -> MpichComponent:
    checked = mpich_settings.read({}, {**SETTINGS, **settings})
    return MpichComponent("mpich-collectives", "1", checked, LIBRARY, Config.model_validate(config or {}))


def comparison(problem: str, algorithm: str, gain: float, low: float) -> Comparison:
    default, tuned = Measurement(1.0, 0.9, 1.1, 5), Measurement(1 - gain, 0.9 * (1 - gain), 1.1 * (1 - gain), 5)
    return Comparison(problem, {"algorithm": algorithm}, default, tuned, gain, low, gain + 0.1)


def test_each_problem_offers_the_algorithms_that_can_decide_it() -> None:
    problems = {one.key: list(one.space.points) for one in make().problems()}
    assert list(problems) == [f"{name}/{size}" for name in ("bcast", "allreduce") for size in (8, 1024, 65536)]
    names = {key: [point["algorithm"] for point in points] for key, points in problems.items()}
    assert names["bcast/8"][0] == BUILT_IN and "scatter_recursive_doubling_allgather" in names["bcast/8"]
    assert "reduce_scatter_allgather" not in names["allreduce/8"]  # 8 bytes are two floats, fewer than the four ranks
    assert "reduce_scatter_allgather" in names["allreduce/1024"]
    six = {one.key: list(one.space.points) for one in make(nodes=6).problems()}
    assert {"algorithm": "scatter_recursive_doubling_allgather"} not in six["bcast/8"]


def test_the_default_is_measured_without_any_setting() -> None:
    plan = make().plan("bcast/1024", {"algorithm": BUILT_IN})
    assert not plan.environment and not plan.files
    assert plan.argv[0].endswith("/reprise-collbench-mpich") and plan.argv[-1] == "bcast:1024"


def test_one_run_evaluates_a_setting_of_every_collective_and_size() -> None:
    made = make()
    assert {one.round for one in made.problems()} == {"4x1/1"}
    wanted = [
        Wanted("bcast/65536", {"algorithm": "nb"}),
        Wanted("allreduce/8", {"algorithm": BUILT_IN}, 0.5),
        Wanted("bcast/1024", {"algorithm": "scatter_ring_allgather"}),
    ]
    plan = made.plan_round(wanted)
    assert list(plan.argv[-3:]) == ["bcast:65536", "allreduce:8:0.5", "bcast:1024"]
    assert plan.environment == {FILE: "{directory}/selection.json"}
    table = json.loads(plan.files["selection.json"])
    chosen = [selected(table, Call("bcast", size, 4)) for size in (8, 1024, 65536)]
    assert chosen == [
        "MPIR_Bcast_intra_binomial",
        "MPIR_Bcast_intra_scatter_ring_allgather",
        "MPIR_Bcast_allcomm_nb",
    ]
    assert table["collective=allreduce"] == LIBRARY.table["collective=allreduce"]


def test_winners_are_published_in_a_proved_file(place: Path) -> None:
    comparisons = [
        comparison("bcast/8", "nb", 0.3, -0.1),
        comparison("bcast/1024", "nb", 0.3, 0.2),
        comparison("bcast/65536", BUILT_IN, 0.0, 0.0),
        comparison("allreduce/1024", "nb", 0.1, 0.0),
    ]
    (found,) = make().publish(comparisons, mpich(), place)
    assert found.artifact is not None and found.environment == {FILE: found.artifact.path}
    assert all(is_allowed(name) for name in found.environment)
    assert dict(found.context) == {"mpi": "MPICH", "mpich": ["4.0.2"], "nodes": 4, "tasks_per_node": 1}
    assert found.gain == pytest.approx(0.3)
    table = json.loads(Path(found.artifact.path).read_text())
    chosen = {size: selected(table, Call("bcast", size, 4)) for size in (8, 1024, 65532, 65536)}
    assert chosen == {
        8: "MPIR_Bcast_intra_binomial",
        1024: "MPIR_Bcast_allcomm_nb",
        65532: "MPIR_Bcast_allcomm_nb",
        65536: "MPIR_Bcast_intra_binomial",
    }


def test_without_winners_nothing_is_published(place: Path) -> None:
    assert not make().publish([comparison("bcast/8", "nb", 0.3, -0.1)], mpich(), place)
    assert not list(place.iterdir())


def test_a_file_without_effect_is_not_published(place: Path) -> None:
    with pytest.raises(TunerError, match="not in effect"):
        make().publish([comparison("bcast/8", "nb", 0.3, 0.1)], mpich(lambda _: LIBRARY.table), place)
    assert not list(place.iterdir())


def test_a_run_without_a_time_is_an_error() -> None:
    with pytest.raises(ObjectiveError, match=r"no valid time of bcast at 8 bytes on 4 tasks \(exit 1: killed"):
        make().read("bcast/8", TrialOutput(1, "", "killed", 0.1))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"collectives": ["gather"]}, "'gather' cannot be tuned: choose from allgather"),
        ({"collectives": ["reduce"]}, "has no algorithms of reduce"),
        ({"tasks_per_node": 2}, "one task"),
        ({"nodes": 1}, "cannot communicate"),
        ({"sizes": [6]}, "multiples of 4"),
        ({"segments": [0]}, "segments: has no effect on MPICH"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(TunerError, match=why):
        make(**settings)


def test_a_site_with_another_release_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(TunerError, match=r"jobs may load 3\.4\.1"):
        make({"mpich": {"releases": ["4.0.2", "3.4.1"]}})


def test_the_plugin_reports_every_variable_with_which_users_choose() -> None:
    assert all(is_reported(name.replace("*", "X")) for name in CONFLICTS)


def test_the_shipped_component_has_valid_defaults() -> None:
    definition = yaml.safe_load((ROOT / "etc/components/mpich-collectives.yaml").read_text())
    assert mpich_settings.read(definition["defaults"], {**definition["suggest"], "nodes": 4}).layouts
