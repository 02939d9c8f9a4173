# SPDX-License-Identifier: Apache-2.0
"""Test the games (measured tasks) of the tuner's benchmark, on landscapes so small that the results are known."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bench.emulators.interference import Interference
from bench.tuner import __main__ as tuner
from bench.tuner import play
from bench.tuner.games import ARENAS, FAR, Arena, distance_under_noise, evaluations_until_near
from bench.tuner.needles import found
from bench.tuner.own_methods import POLICIES, SEARCHES
from bench.tuner.peers import PEERS
from bench.tuner.play import PACKAGE, Memory, Task, digest_of, environment
from bench.tuner.tuner_page import render
from reprise.tuner.model.landscape import Landscape
from reprise.tuner.model.space import Parameter, Parametrization, Space

SPACE = Space((Parameter("x", tuple(range(1, 41))),))
RAMP = Landscape("ramp", SPACE, {"x": 1}, [(40.0 + x, 42.0 + x) for x in range(40)])


class Scripted:
    """A search that evaluates the given points, and recommends the point with the lowest value."""

    def __init__(self, *points: int) -> None:
        self.points = list(points)
        self.told: list[tuple[float, int]] = []

    def ask(self) -> Parametrization | None:
        return {"x": self.points.pop(0)} if self.points else None

    def tell(self, point: Parametrization, value: float) -> None:
        self.told.append((value, int(point["x"])))

    def best(self) -> Parametrization:
        return {"x": min(self.told)[1]}


@pytest.mark.parametrize(("points", "expected"), [((30, 20, 2), 3), ((30, 30, 1), 3), ((3,), 1), ((40, 30), FAR)])
def test_the_first_point_within_5_percent_ends_the_game_and_repetitions_count(
    points: tuple[int, ...], expected: int
) -> None:
    assert evaluations_until_near(lambda *_: Scripted(*points), RAMP, 1) == expected


def test_a_method_that_finds_nothing_scores_one_more_than_the_budget() -> None:
    assert evaluations_until_near(lambda *_: Scripted(*[40] * 200), RAMP, 1) == 101


def test_the_distance_uses_the_mean_of_the_recommended_point_and_not_its_drawn_runs() -> None:
    driver = Scripted(5, 5, 5, 5)
    distance = distance_under_noise(lambda *_: driver, RAMP, Arena("ramp", 4), 1)
    assert distance == pytest.approx(100 * (45 / 41 - 1))
    assert {value for value, _ in driver.told} == {44.0, 46.0}


def test_interference_makes_runs_slower_and_ends_with_the_budget() -> None:
    driver = Scripted(*[1] * 50)
    assert distance_under_noise(lambda *_: driver, RAMP, Arena("ramp", 10, Interference(60.0, 1.0)), 1) == 0
    assert len(driver.told) == 10 and min(driver.told)[0] > 50


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_spends_the_budget_and_recommends_what_it_measured(policy: str) -> None:
    driver = POLICIES[policy](SPACE, 1, 25, True)
    told = []
    for _ in range(25):
        point = driver.ask()
        assert point is not None
        told.append(point)
        driver.tell(point, RAMP.mean(point))
    assert driver.best() in told


def test_the_same_seed_plays_the_same_game() -> None:
    results = [[evaluations_until_near(SEARCHES["random"], RAMP, seed) for seed in range(5)] for _ in range(2)]
    assert results[0] == results[1] and len(set(results[0])) > 1


def results() -> Mapping[Task, list[float]]:
    return {
        Task("search:ours", "near", "one", 3): [1, 2, 30],
        Task("search:ours", "near", "two", 3): [40, 50, FAR],
        Task("peer:theirs", "near", "one", 3): [FAR, FAR, FAR],
        Task("policy:racing", "noise", "sbb-noise", 2): [1.0, 2.0],
        Task("policy:racing", "noise", "sro-noise.shift", 2): [0.0, 0.0],
    }


def test_the_summary_has_the_median_over_all_games_and_the_mean_distance() -> None:
    summary = tuner.summary(results())
    assert summary["evals_to_5pct"] == {"ours": 35.0, "theirs": FAR}
    assert summary["evals_to_5pct_by_landscape"] == {"one": {"ours": 2, "theirs": FAR}, "two": {"ours": 50}}
    assert summary["not_reached"] == {"ours": 0.1667, "theirs": 1.0}
    assert summary["noise_distance"] == {"racing": 0.75}


def test_the_page_has_every_method_and_landscape() -> None:
    page = render(
        {
            **tuner.summary(results()),
            "seeds": 3,
            "landscapes": ["one", "two"],
            "ask_ms": 20.5,
            "needle_found": {"racing": 0.99},
        }
    )
    assert "| theirs | 101 | 1.0 | 101 |  |" in page
    assert "| racing | 0.99 |" in page
    assert "| racing | 0.75 | 1.5 | 0.0 |" in page and "20.5 ms" in page


@pytest.mark.parametrize("gain", [0.1, *(pytest.param(gain, marks=pytest.mark.slow) for gain in (0.5, 0.9))])
@pytest.mark.parametrize("width", [1, 3, 10])
def test_racing_and_static_recommend_a_narrow_optimum_of_any_width(width: int, gain: float) -> None:
    assert all(found(policy, width, gain, seed) for policy in ("racing", "static") for seed in range(2))


def test_the_timed_ask_uses_the_model() -> None:
    # A call of `ask` takes more than 0.5 ms only if the model predicts 2,000 points. In the initial design, it takes
    # far less.
    assert tuner.ask_ms(questions=1) > 0.5


def test_all_methods_play_on_all_landscapes() -> None:
    tasks = tuner.tasks((), ["sbb.2", "sbb-noise"], 30)
    assert {(task.name, task.where) for task in tasks if task.game == "near"} >= {
        (name, where) for name in ("gp-ei", "random", "smac3") for where in ("sbb.2", "sbb-noise")
    }
    assert {task.where for task in tasks if task.game == "noise"} == {"sbb-noise"}
    assert all(task.landscape.exists() for task in tuner.tasks((), [a.landscape for a in ARENAS.values()], 1))


@pytest.mark.slow
def test_the_benchmark_ends_with_a_json_object(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.tuner", "--quick", "--fresh", "--methods", "gp-ei,random"]
    done = subprocess.run(
        [*command, "--page", str(tmp_path / "page.md")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert set(last["evals_to_5pct"]) == {"gp-ei", "random"}


def memory(key: str = "one") -> Memory:
    return Memory({"peer:nevergrad": key, "peer:smac3": "two"}, {})


NEAR = Task("peer:nevergrad", "near", "sbb.2", 2)


def test_the_peers_stored_results_are_used_while_nothing_that_decides_them_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "STORED", tmp_path / "peers.json")
    monkeypatch.setattr(play, "ENVIRONMENT", tmp_path)
    far = Task("peer:smac3", "noise", "sbb-noise", 2)
    memory().store({NEAR: [3, 4], far: [0.5, 1.25], Task("search:random", "near", "sbb.2", 2): [1, 2]})
    stored = json.loads((tmp_path / "peers.json").read_text())
    assert set(stored) == {"nevergrad near sbb.2", "smac3 noise sbb-noise"}
    replace(memory(), stored=stored).store({NEAR: [3, 5]})
    assert set(json.loads((tmp_path / "peers.json").read_text())) == set(stored)
    assert replace(memory(), stored=stored).recall(NEAR) == [3, 4]
    assert replace(memory("another driver"), stored=stored).recall(NEAR) is None
    assert replace(memory(), stored=stored).recall(replace(NEAR, seeds=30)) is None


def test_games_played_on_this_machine_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "ENVIRONMENT", tmp_path)
    memory().keep(NEAR, [5, 6])
    assert memory().recall(NEAR) == [5, 6] and memory("another").recall(NEAR) is None


def test_a_peers_results_depend_on_its_own_driver_and_ours_on_our_code() -> None:
    digests = [digest_of(name) for name in ("peer:nevergrad", "peer:smac3", "search:random", "policy:none")]
    assert len(set(digests)) == 4 and digests[2] == digest_of("search:gp-ei")


def test_the_peers_environment_imports_the_product_and_the_benches_without_installation() -> None:
    code = (
        "from importlib.util import find_spec as f; assert f('reprise.tuner.model.space') and f('bench.tuner.worker')"
    )
    without_site = [sys.executable, "-S", "-c", code]
    done = subprocess.run(without_site, cwd=PACKAGE, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_stored_result_of_a_peer_is_valid() -> None:
    stored = json.loads(play.STORED.read_text())
    tasks = {
        Task(f"peer:{name}", game, where, len(found["results"])): found["key"]
        for (name, game, where), found in ((key.split(" "), found) for key, found in stored.items())
    }
    memory = Memory.of(tasks)
    assert {task.name for task in tasks} == set(PEERS)
    assert [task for task, key in tasks.items() if memory.key(task) != key] == []
