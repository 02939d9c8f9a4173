# SPDX-License-Identifier: Apache-2.0
"""Test campaigns on a recorded landscape, without Slurm."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from reprise.database.entities import Trial, TrialState
from reprise.database.facade import Database
from reprise.tuner.campaign import session
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.errors import TunerError
from reprise.tuner.executors.executor import Begun
from reprise.tuner.executors.replay_executor import ReplayExecutor
from reprise.tuner.model.component import TrialPlan
from reprise.tuner.model.landscape import Landscape
from reprise.tuner.model.landscape_component import LandscapeComponent
from reprise.tuner.model.space import Parameter, Space
from tests.places import ROOT
from tests.unit.tuner_site import Site

SPACE = Space((Parameter("threads", (1, 2, 4, 8), "log"), Parameter("direct", (0, 1))))
SAMPLES = [(10.0 / (1 + number), 11.0 / (1 + number), 12.0 / (1 + number)) for number in range(8)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ramp.json.gz"
    Landscape("ramp", SPACE, {"threads": 1, "direct": 0}, SAMPLES).save(path)
    return path


@pytest.fixture
def site(tmp_path: Path) -> Site:
    directory = tmp_path / "site"
    directory.mkdir()
    site = Site(directory)
    shutil.copy(ROOT / "etc/components/landscape.yaml", directory / "components")
    return site


def campaign(site: Site, file: Path, **executor: Any) -> list[Trial]:
    definition = {
        "name": "test",
        "component": "landscape",
        "scope": "cluster",
        "settings": {"file": str(file)},
        "search": {"method": "random", "budget": 8, "window": 0},
        "noise": {"policy": "none"},
        "repetitions": {"default_runs": 2, "final_pairs": 3},
        "executor": {"kind": "replay", **executor},
    }
    with Database.open(site.config.database.path) as database:
        number = session.begin(database, check(definition, "test"), site.config, 1_000_000.0).id
    assert not site.run(number)  # no record, because a landscape has no settings for jobs
    return list(site.trials(number))


def test_a_campaign_runs_on_a_landscape_and_finds_its_best_point(site: Site, file: Path) -> None:
    trials = campaign(site, file)
    assert len(trials) == 2 + 7 + 6 and {trial.state for trial in trials} == {TrialState.COMPLETE}
    best = [trial.parametrization for trial in trials if trial.role == "final-tuned"]
    assert best == [{"threads": 8, "direct": 1}] * 3
    for trial in trials:
        assert trial.value in SAMPLES[SPACE.points.index(trial.parametrization)]


def test_a_repeated_campaign_measures_the_same_values(site: Site, file: Path) -> None:
    first, second = campaign(site, file), campaign(site, file)
    assert [trial.value for trial in first] == [trial.value for trial in second]
    assert len({trial.value for trial in first if trial.parametrization == {"threads": 1, "direct": 0}}) > 1


def test_a_trial_that_exceeds_its_limit_is_stopped_at_the_limit(file: Path, tmp_path: Path) -> None:
    plan = LandscapeComponent("landscape", "1", file).plan("ramp", {"threads": 1, "direct": 0})
    limited = TrialPlan(plan.argv, 1, 1, timeout_s=5.0)
    with ReplayExecutor(seed=1) as executor:
        executor.start(Begun("one", limited, tmp_path / "p/0001"))
        (done,) = executor.poll(0.0)
    assert done.result.state is TrialState.TIMEOUT and done.result.output.elapsed_s == 5.0


def test_the_quicker_of_two_concurrent_trials_ends_first(file: Path, tmp_path: Path) -> None:
    component = LandscapeComponent("landscape", "1", file)
    with ReplayExecutor(seed=1) as executor:
        for threads in (1, 8):
            plan = component.plan("ramp", {"threads": threads, "direct": 0})
            executor.start(Begun(str(threads), plan, tmp_path / f"p/{threads}"))
        assert [done.key for done in executor.poll(0.0)] == ["8", "1"]


def test_a_point_outside_the_landscape_fails_with_a_message(file: Path, tmp_path: Path) -> None:
    plan = LandscapeComponent("landscape", "1", file).plan("ramp", {"threads": 3, "direct": 0})
    with ReplayExecutor(seed=1) as executor:
        executor.start(Begun("one", plan, tmp_path / "p/0001"))
        (done,) = executor.poll(0.0)
    assert done.result.state is TrialState.FAILED and "does not contain the point" in done.result.message


def test_the_plan_of_another_component_is_refused(tmp_path: Path) -> None:
    with ReplayExecutor(seed=1) as executor, pytest.raises(TunerError, match="only for components of kind landscape"):
        executor.start(Begun("one", TrialPlan(("ior",), 1, 1), tmp_path / "p/0001"))


def test_a_preview_shows_the_point_to_look_up(file: Path) -> None:
    plan = LandscapeComponent("landscape", "1", file).plan("ramp", {"threads": 8, "direct": 1})
    assert '{"direct": 1, "threads": 8}' in ReplayExecutor(seed=1).preview(Begun("one", plan, Path("/p/0001")))
