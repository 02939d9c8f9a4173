# SPDX-License-Identifier: Apache-2.0
"""Test properties of single search methods; test_conformance.py tests the properties that all methods share."""

import math
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import yaml

from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.search import METHODS, annealing, build, genetic, settings_of
from reprise.tuner.search import grid_points as grids
from tests.places import ROOT
from tests.unit.search_spaces import bowl, grid, small


def test_screening_ignores_a_change_within_the_spread_of_the_default() -> None:
    space = Space(tuple(Parameter(name, (0, 1)) for name in "abc"))
    search = build("screening", space, 1, 3)
    default: Parametrization = {"a": 0, "b": 0, "c": 0}
    for value in (10.0, 10.4, 9.6):
        search.tell(default, value)
    for name, value in (("a", 9.3), ("b", 9.1), ("c", 8.0)):
        search.tell({**default, name: 1}, value)
    assert search.ask() == {"a": 0, "b": 1, "c": 1}  # a's gain is within the spread of the default


def test_screening_finds_changes_that_helped_despite_a_slow_run_of_the_default() -> None:
    names = "abcdefghijkl"
    space = Space(tuple(Parameter(name, (0, 1)) for name in names))
    search = build("screening", space, 1, 3)
    default: Parametrization = dict.fromkeys(names, 0)
    for value in (10.0, 10.1, 14.0):
        search.tell(default, value)
    runs = (10.1, 9.95, 10.0, 10.05, 9.95, 10.2, 13.0, 9.92, 10.08, 12.0, 9.4, 9.3)
    for name, value in zip(names, runs, strict=True):
        search.tell({**default, name: 1}, value)
    assert search.ask() == {**default, "k": 1, "l": 1}


@pytest.mark.parametrize("method", METHODS)
def test_without_settings_a_method_uses_its_defaults(method: str) -> None:
    assert settings_of(method, {}) == METHODS[method].settings()


@pytest.mark.parametrize(
    ("method", "mapping", "message"),
    [
        ("genetic", {"mutatoin": 0.5}, "method 'genetic': unknown setting 'mutatoin': did you mean 'mutation'?"),
        ("genetic", {"mutation": 2}, "setting 'mutation': Input should be less than or equal to 1 (it is 2)"),
        ("genetic", {"pool": "5"}, "setting 'pool'"),
        ("gp-ei", {"kernel": "cubic"}, "setting 'kernel'"),
        ("annealing", {"alpha": 1.5}, "choose one below 1"),
        ("random", {"kernel": "rbf"}, "the method 'random' has no settings: leave out 'kernel'"),
    ],
)
def test_settings_that_are_wrong_are_refused_in_one_line(method: str, mapping: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        settings_of(method, mapping)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("method", "mapping"),
    [
        *(("gp-ei", {"kernel": kernel}) for kernel in ("matern32", "rbf")),
        *(("gp-ei", {"values": values}) for values in ("warped", "plain")),
        *(("gp-ei", {"lie": lie}) for lie in ("mean", "best")),
        ("tpe", {"multivariate": False, "candidates": 4}),
        *(("genetic", {"crossover": crossover, "cuts": 5}) for crossover in ("single", "n-point")),
        ("genetic", {"selection": "probabilistic", "elitism": True, "mutation": 1}),
        *(("annealing", {"cooling": cooling}) for cooling in ("multiplicative", "logarithmic")),
        *(("annealing", {"restart": restart}) for restart in ("random", "threshold")),
    ],
)
def test_every_setting_searches_a_grid_to_its_end(method: str, mapping: dict[str, object]) -> None:
    search = build(method, small(), 1, 2, settings=settings_of(method, mapping))
    asked: list[Parametrization] = []
    while (point := search.ask(asked[-1:] if len(asked) == 3 else [])) is not None:
        asked.append(point)
        search.tell(point, float(len(asked)))
    assert len({small().key(point) for point in asked}) == len(small().points)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gp-ei", "tpe", "genetic", "annealing"])
def test_methods_that_learn_find_what_random_search_does_not(method: str) -> None:
    space = Space([Parameter(name, tuple(range(16))) for name in "abc"])

    def found(method: str, seed: int) -> float:
        search, best = build(method, space, seed, 6), math.inf
        for _ in range(30):
            point = search.ask()
            assert point is not None
            value = sum((float(place) - 11) ** 2 for place in point.values())
            search.tell(point, 1 + value)
            best = min(best, value)
        return best

    learnt, chance = ([found(name, seed) for seed in range(12)] for name in (method, "random"))
    assert np.median(learnt) < 0.75 * np.median(chance)


@pytest.mark.parametrize("method", METHODS)
def test_the_page_on_search_lists_every_setting_with_its_default(method: str) -> None:
    page = (ROOT / "docs/reference/search.md").read_text()
    assert f"| `{method}` |" in page
    section = page.partition(f"## `{method}`\n")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", section, re.MULTILINE))
    fields = METHODS[method].settings.model_fields
    defaults = {name: field.default for name, field in fields.items()}
    written = {name: yaml.safe_load(text.strip("`")) for name, text in listed.items()}
    assert {name: None if value == "none" and name == "alpha" else value for name, value in written.items()} == defaults


def test_a_better_point_is_always_accepted_and_a_worse_one_by_its_distance_over_the_temperature() -> None:
    assert annealing.acceptance(2.0, 1.0, 0.5) == 1.0
    assert annealing.acceptance(1.0, 2.0, 0.5) == pytest.approx(math.exp(-2))
    assert annealing.acceptance(1.0, 2.0, 1e-9) == annealing.acceptance(1.0, 2.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("cooling", "alpha", "expected"),
    [
        ("exponential", 0.5, [100.0, 50.0, 25.0]),
        ("multiplicative", 10.0, [100.0, 100 / 11, 100 / 21]),
        ("logarithmic", 10.0, [100.0, 100 / (1 + 10 * math.log(2)), 100 / (1 + 10 * math.log(3))]),
    ],
)
def test_a_temperature_falls_by_its_schedule(cooling: str, alpha: float, expected: list[float]) -> None:
    settings = annealing.Settings.model_validate({"cooling": cooling, "alpha": alpha, "temperature": 100.0})
    assert [annealing.cooled(settings, step) for step in range(3)] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mapping", "heated"),
    [
        ({}, 0),
        ({"restart": "random", "restart_probability": 1.0}, 3),
        ({"restart": "random", "restart_probability": 1.0, "restarts": 5}, 5),
        ({"restart": "random", "restart_probability": 0.0}, 0),
        ({"restart": "threshold", "restart_threshold": 0.93}, 3),
        ({"restart": "threshold", "restart_threshold": 0.01}, 0),
    ],
)
def test_restarts_heat_up_again_a_bounded_number_of_times(mapping: dict[str, object], heated: int) -> None:
    """With T0 = 1, alpha = 0.95 and a threshold of 0.93, each restart is three steps after the previous restart."""
    settings = annealing.Settings.model_validate(mapping)
    search = annealing.AnnealingSearch(grid(), 1, grid().points[:3], settings)
    for _ in range(20):
        asked = search.ask()
        assert asked is not None
        search.tell(asked, bowl(asked))
    assert search.restarts == heated


def test_annealing_moves_from_the_best_of_its_opening_to_a_neighbor() -> None:
    space = Space([Parameter(name, tuple(range(9))) for name in "ab"])
    opening: list[Parametrization] = [{"a": 4, "b": 4}, {"a": 0, "b": 8}]
    search = annealing.AnnealingSearch(space, 7, opening)
    for told, value in zip(opening, (5.0, 1.0), strict=True):
        search.tell(told, value)
    point = search.ask()
    assert point is not None
    assert point["a"] in (0, 1) and point["b"] in (7, 8)


def test_roulette_weights_fall_with_the_value_and_leave_the_worst_a_chance() -> None:
    weights = genetic.weights(np.array([1.0, 2.0, 3.0, 5.0]))
    assert weights == pytest.approx(np.array([1.25, 1.0, 0.75, 0.25]) / 3.25)
    assert genetic.weights(np.array([-5.0, -5.0])).tolist() == [0.5, 0.5]


def test_a_tournament_takes_the_best_of_two_pools() -> None:
    """If each of the pools has half of the points, the best point is always a parent, and the worst point never is.

    If each pool has only one point, any point can be a parent.
    """
    values = np.array([4.0, 1.0, 3.0, 2.0])
    half, lottery = genetic.Settings(pool=9), genetic.Settings(pool=1)
    drawn = [set(genetic.parents(values, half, np.random.default_rng(seed))) for seed in range(50)]
    assert all(1 in pair and 0 not in pair and len(pair) == 2 for pair in drawn)
    luck = Counter(i for seed in range(50) for i in genetic.parents(values, lottery, np.random.default_rng(seed)))
    assert luck.keys() == {0, 1, 2, 3}


def test_with_elitism_the_best_point_is_the_first_parent() -> None:
    for selection in ("tournament", "probabilistic"):
        settings = genetic.Settings.model_validate({"selection": selection, "pool": 1, "elitism": True})
        pairs = [genetic.parents(np.arange(6.0)[::-1], settings, np.random.default_rng(seed)) for seed in range(30)]
        assert all(first == 5 and second != 5 for first, second in pairs)


@pytest.mark.parametrize(("crossover", "changes"), [("single", 1), ("double", 2), ("n-point", 4)])
def test_a_child_has_segments_of_both_parents_in_turn(crossover: str, changes: int) -> None:
    space = Space([Parameter(str(gene), (0, 1)) for gene in range(9)])
    zeros, ones = ({str(gene): value for gene in range(9)} for value in (0, 1))
    settings = genetic.Settings.model_validate({"crossover": crossover, "cuts": 4})
    for seed in range(20):
        child = list(genetic.crossed(space, zeros, ones, settings, np.random.default_rng(seed)).values())
        assert sum(a != b for a, b in pairwise(child)) == changes


def test_a_walk_moves_one_step_at_most_on_each_axis_and_one_at_least() -> None:
    space = Space(
        (Parameter("a", tuple(range(5))), Parameter("b", (0, 4, 8), "log"), Parameter("c", ("x", "y", "z"), "category"))
    )
    origin: Parametrization = {"a": 2, "b": 0, "c": "y"}
    walks = [grids.walk(space, origin, np.random.default_rng(seed)) for seed in range(300)]
    assert {walk["a"] for walk in walks} == {1, 2, 3}
    assert {walk["b"] for walk in walks} == {0, 4}
    assert {walk["c"] for walk in walks} == {"x", "y", "z"}
    assert origin not in walks
