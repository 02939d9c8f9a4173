# SPDX-License-Identifier: Apache-2.0
"""Test the search that adds one change at a time to the best point so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.model.space import Parameter, Parametrization, Space, Value
from reprise.tuner.search import build, settings_of

NAMES = "abcdef"
DEFAULT: Parametrization = dict.fromkeys(NAMES, 0)
SPACE = Space(tuple(Parameter(name, (0, 1, 2)) for name in NAMES))


def either_a_or_b(point: Parametrization) -> Parametrization:
    """Represent two components that exclude each other: b is ignored if a is set."""
    return {**point, "b": 0 if point["a"] else point["b"]}


def best_of(
    method: str, effects: Mapping[tuple[str, Value], float], budget: int, noise: float = 0.0, seed: int = 0, **more: Any
) -> Parametrization:
    """Return the point with the lowest time in a search of `budget` runs, after two runs of the default."""
    rng = np.random.default_rng(seed)

    def run(point: Parametrization) -> float:
        shares = [1 + effects.get((name, value), 0.0) for name, value in point.items()]
        return float(10.0 * np.prod(shares) * np.exp(noise * rng.normal()))

    search = build(method, more.pop("space", SPACE), 1, 0, settings=settings_of(method, more))
    for _ in range(2):
        search.tell(DEFAULT, run(DEFAULT))
    found: list[tuple[float, Parametrization]] = []
    for _ in range(budget):
        point = search.ask()
        assert point is not None
        found.append((run(point), point))
        search.tell(point, found[-1][0])
    return min(found, key=lambda one: one[0])[1]


def test_each_change_is_added_to_those_that_helped() -> None:
    effects: dict[tuple[str, Value], float] = {("b", 1): -0.1, ("d", 1): -0.2, ("e", 1): 0.3}
    assert best_of("stepwise", effects, budget=6) == {**DEFAULT, "b": 1, "d": 1}


def test_changes_come_in_the_given_order_and_may_set_several_values() -> None:
    changes = [{"c": 2, "d": 1}, {"a": 1}]
    search = build("stepwise", SPACE, 1, 0, settings=settings_of("stepwise", {"changes": changes}))
    search.tell(DEFAULT, 10.0)
    assert search.ask() == {**DEFAULT, "c": 2, "d": 1}
    search.tell({**DEFAULT, "c": 2, "d": 1}, 9.0)
    assert search.ask() == {**DEFAULT, "a": 1, "c": 2, "d": 1}


def test_a_change_that_the_opening_contains_is_not_tried_again() -> None:
    first = [{**DEFAULT, "c": 2, "d": 1}]
    search = build("stepwise", SPACE, 1, 0, first=first, settings=settings_of("stepwise", {"changes": [{"c": 2}]}))
    search.tell(DEFAULT, 10.0)
    assert search.ask() == first[0]
    search.tell(first[0], 9.0)
    assert search.ask() == {**DEFAULT, "d": 1}, "without one of the changes of the best point"


@pytest.mark.parametrize(
    ("best", "worst", "next_change"),
    [(9.0, 11.0, "c"), (10.1, 9.9, "c"), (10.4, 11.0, "d"), (9.0, 8.0, "d"), (None, 8.0, "c")],
    ids=["as ranked", "within the tolerance", "worse than the default", "worse than the worst", "failed"],
)
def test_other_changes_are_tried_if_the_first_runs_refute_a_ranking(
    best: float | None, worst: float, next_change: str
) -> None:
    first = [{**DEFAULT, "a": 1}, {**DEFAULT, "b": 1}]
    settings = {"changes": [{"c": 1}], "otherwise": [{"d": 1}], "tolerance": 0.03}
    search = build("stepwise", SPACE, 1, 0, first=first, settings=settings_of("stepwise", settings))
    for point, value in ((DEFAULT, 10.0), (first[0], best), (first[1], worst)):
        search.tell(point, value)
    found = search.ask()
    assert found and [name for name in "cd" if found[name]] == [next_change]


def test_a_change_replaces_another_that_excludes_it() -> None:
    space = Space(SPACE.parameters, either_a_or_b)
    changes = [{"c": 1}, {"a": 1}, {"b": 1}, {"d": 1}]
    search = build("stepwise", space, 1, 0, settings=settings_of("stepwise", {"changes": changes}))
    asked: list[Parametrization] = []
    for value in (10.0, 9.0, 8.0, 7.0, 6.9):
        search.tell(asked[-1] if asked else DEFAULT, value)
        point = search.ask()
        assert point is not None
        asked.append(point)
    assert asked[2] == {**DEFAULT, "b": 1, "c": 1}, "a would suppress b"
    assert asked[3] == {**DEFAULT, "b": 1, "c": 1, "d": 1}


def test_a_change_whose_run_failed_is_not_kept_nor_tried_again() -> None:
    changes = [{"a": 1}, {"b": 1}]
    search = build("stepwise", SPACE, 1, 0, settings=settings_of("stepwise", {"changes": changes}))
    search.tell(DEFAULT, 10.0)
    search.tell({**DEFAULT, "a": 1}, None)
    assert search.ask() == {**DEFAULT, "b": 1}


def test_among_equally_good_points_the_one_with_the_fewest_changes_is_extended() -> None:
    search = build("stepwise", SPACE, 1, 0)
    search.tell(DEFAULT, 10.0)
    search.tell({**DEFAULT, "a": 1}, 8.0)
    search.tell({**DEFAULT, "a": 1, "b": 1}, 7.97)
    assert search.ask() == {**DEFAULT, "a": 1, "c": 1}


def test_a_single_lucky_run_is_not_taken_at_face_value() -> None:
    search = build("stepwise", SPACE, 1, 0)
    for value in (10.0, 10.0):
        search.tell(DEFAULT, value)
    search.tell({**DEFAULT, "a": 1}, 8.5)
    search.tell({**DEFAULT, "a": 1, "b": 1}, 9.6)  # b does nothing, but seems harmful, because a's run was lucky
    for value in (9.6, 9.4, 9.5):
        search.tell({**DEFAULT, "a": 1}, value)
    assert search.ask() == {**DEFAULT, "a": 1, "c": 1}


@pytest.mark.parametrize("change", [{"z": 1}, {"a": 3}])
def test_a_change_that_is_not_on_the_grid_is_refused_in_one_line(change: dict[str, int]) -> None:
    with pytest.raises(TunerError, match=r"search: changes: .* is not a change on the grid: correct it"):
        build("stepwise", SPACE, 1, 0, settings=settings_of("stepwise", {"changes": [change]}))


def share_found(method: str, draw: Callable[[np.random.Generator], dict[tuple[str, Value], float]]) -> float:
    """Return the mean share of the possible gain that a search of seven runs finds, over 200 applications."""
    shares = []
    for seed in range(200):
        effects = draw(np.random.default_rng(seed))
        time = {name: min(0.0, *(effects.get((name, value), 0.0) for value in (1, 2))) for name in NAMES}
        point = best_of(method, effects, budget=7, noise=0.03, seed=seed)
        gained = 1 - np.prod([1 + effects.get(item, 0.0) for item in point.items()])
        shares.append(gained / (1 - np.prod([1 + one for one in time.values()])))
    return float(np.mean(shares))


def test_seven_runs_find_more_of_the_gain_of_several_components_than_screening_finds() -> None:
    def draw(rng: np.random.Generator) -> dict[tuple[str, Value], float]:
        helpful = rng.choice(len(NAMES), size=3, replace=False)
        harmful = [index for index in range(len(NAMES)) if index not in helpful][:1]
        return {
            **{(NAMES[index], 1): float(-rng.uniform(0.05, 0.2)) for index in helpful},
            **{(NAMES[index], 1): float(rng.uniform(0.05, 0.3)) for index in harmful},
        }

    stepwise, screening = share_found("stepwise", draw), share_found("screening", draw)
    assert stepwise > 0.85 and stepwise > screening + 0.1, (stepwise, screening)
