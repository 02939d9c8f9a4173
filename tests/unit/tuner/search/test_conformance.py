# SPDX-License-Identifier: Apache-2.0
"""Test the contract of all search methods with one suite, so that campaigns can use any method."""

import math
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.model.space import Parameter, Parametrization, Space, Value
from reprise.tuner.search import METHODS, build
from reprise.tuner.search.search_method import Key, Search
from tests.examples import examples
from tests.unit.search_spaces import bowl, grid, small

every_method = pytest.mark.parametrize("method", METHODS)
learning = pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.learns])

values = st.one_of(st.none(), st.floats(1e-9, 1e9), st.just(1.0), st.floats(-5, 5), st.sampled_from((0.0, -1e9, 1e-9)))
tells = st.lists(st.tuples(values, st.booleans(), st.booleans()), max_size=9)


def asked(search: Search, pending: Sequence[Parametrization] = ()) -> Parametrization:
    point = search.ask(pending)
    assert point is not None
    return point


def tell_all(search: Search, space: Space, value: float | None = 1.0, most: int = 10_000) -> list[Key]:
    """Report `value` for each point that the search asks for, until none is left. Return the points' keys in order."""
    keys: list[Key] = []
    while len(keys) < most and (point := search.ask()) is not None:
        assert point == space.canonical(point)
        keys.append(space.key(point))
        search.tell(point, value)
    return keys


@every_method
@settings(max_examples=examples(8))
@given(seed=st.integers(0, 2**63), told=tells)
def test_a_search_rebuilt_from_the_same_history_asks_for_the_same_points(
    method: str, seed: int, told: list[tuple[float | None, bool, bool]]
) -> None:
    """The history has failures, censored values, replicates and pending points. No point is asked for twice."""
    space = grid()
    search, rebuilt = build(method, space, seed, 3), build(method, space, seed, 3)
    history: list[tuple[Parametrization, float | None, bool]] = []
    for value, censored, replicate in told:
        point = history[-1][0] if replicate and history else asked(search)
        assert replicate or space.key(point) not in {space.key(seen) for seen, *_ in history}
        history.append((point, value, censored and value is not None))
        search.tell(point, value, censored=history[-1][2])
    for point, value, censored in history:
        rebuilt.tell(point, value, censored=censored)
    first = asked(search)
    second = asked(search, [first])
    assert (asked(rebuilt), asked(rebuilt, [first])) == (first, second)
    assert space.key(first) != space.key(second)
    assert not {space.key(first), space.key(second)} & {space.key(point) for point, *_ in history}


@every_method
@pytest.mark.parametrize("value", [1.0, None, 0.0, -3.0])
def test_every_point_of_a_small_grid_is_asked_once_and_then_none(method: str, value: float | None) -> None:
    keys = tell_all(build(method, small(), 1, 4), small(), value)
    assert sorted(keys) == sorted(small().key(point) for point in small().points)


@every_method
def test_equivalent_points_are_asked_once(method: str) -> None:
    def canonical(point: Parametrization) -> Parametrization:
        return {**point, "b": "x"} if point["a"] == 0 else point

    space = Space(small().parameters, canonical)
    assert len(tell_all(build(method, space, 5, 3), space)) == len(space.points) == 5


@every_method
def test_an_ignored_parameter_may_have_a_value_that_is_not_on_the_grid(method: str) -> None:
    """A measured landscape stores its points in a table, so only values on the grid are known to be ignored."""
    parameters = Parameter("a", (0, 1, 2), "category"), Parameter("b", (2, 3)), Parameter("c", (0, 8, 9))
    table: dict[tuple[Value, ...], Parametrization] = {
        (a, b, c): {"a": a, "b": b, "c": c} if a == 2 else {"a": a, "b": 4, "c": 0}
        for a in (0, 1, 2)
        for b in (2, 3)
        for c in (0, 8, 9)
    }
    space = Space(parameters, lambda point: table.get((point["a"], point["b"], point["c"]), point))
    keys = tell_all(build(method, space, 1, 2), space)
    assert sorted(keys) == sorted(space.key(point) for point in space.points)


@every_method
@pytest.mark.parametrize(
    "space",
    [
        Space((Parameter("a", (0,)),)),
        Space((Parameter("a", ("only",), "category"), Parameter("b", (3,), "log"))),
        Space((Parameter("a", (0, 1, 2), "log"),)),
        Space((Parameter("a", ("x", "y", "z"), "category"),)),
        Space((Parameter("a", (0.5, 0.25, 4), "linear"), Parameter("b", (-2, 0)), Parameter("c", ("u",), "category"))),
    ],
    ids=["one point", "one point of two axes", "one numeric axis", "one category", "unordered and negative values"],
)
def test_spaces_of_every_shape_are_searched_to_the_end(method: str, space: Space) -> None:
    assert len(set(tell_all(build(method, space, 2, 2), space, 0.5))) == len(space.points)


@every_method
def test_points_that_are_pending_are_not_asked(method: str) -> None:
    search, pending = build(method, small(), 1, 2), list[Parametrization]()
    search.tell(small().points[0], 2.0)
    while (point := search.ask(pending)) is not None:
        pending.append(point)
    assert len({small().key(point) for point in (small().points[0], *pending)}) == len(small().points)
    assert search.ask() == pending[0]


@every_method
def test_eight_parallel_asks_differ(method: str) -> None:
    search, pending = build(method, grid(), 1, 4), list[Parametrization]()
    for point in grid().points[::60]:
        search.tell(point, bowl(point))
    for _ in range(8):
        pending.append(asked(search, pending))
    assert len({grid().key(point) for point in pending}) == 8


@every_method
def test_a_point_that_was_told_without_an_ask_is_not_asked_for(method: str) -> None:
    search = build(method, small(), 1, 6)
    for point in small().points[:-1]:
        search.tell(point, None)
    assert search.ask() == small().points[-1]


@every_method
def test_replicates_and_equivalent_points_are_one_point(method: str) -> None:
    search = build(method, grid(), 1, 2)
    search.tell({"algorithm": 1, "segment": 0, "fan": 1}, 1.0)
    search.tell({"algorithm": 1, "segment": 4096, "fan": 8}, 2.0)
    search.tell({"algorithm": 1, "segment": 0, "fan": 1}, None)
    for _ in range(8):
        point = asked(search)
        assert point["algorithm"] != 1
        search.tell(point, 3.0, censored=True)


@every_method
def test_points_outside_the_grid_may_be_told(method: str) -> None:
    """A component's default need not be on the component's grid (Robert 2021, table 4.5)."""
    search = build(method, small(), 1, 2)
    search.tell({"a": 17, "b": "z", "c": 0}, 0.1)
    search.tell({"a": -1, "b": "x", "c": 9}, 0.2)
    assert len(tell_all(search, small())) == len(small().points)


@every_method
def test_the_points_of_a_warm_start_are_asked_first(method: str) -> None:
    first: list[Parametrization] = [small().points[4], {"a": 99, "b": "x", "c": 7}, {"a": 1}, small().points[2]]
    search = build(method, small(), 1, 3, first=first)
    assert search.ask() == first[0]
    assert search.ask([first[0]]) == first[3]


@learning
def test_the_points_of_a_warm_start_replace_as_many_points_of_the_design(method: str) -> None:
    def opening(initial: int, first: Sequence[Parametrization]) -> list[Parametrization]:
        search, points = build(method, grid(), 1, initial, first=first), list[Parametrization]()
        for _ in range(3):
            points.append(asked(search, points))
        return points

    warm = opening(3, [grid().points[7]])
    assert warm == [grid().points[7], *opening(2, ())[:2]]


@every_method
@pytest.mark.parametrize("scale", [1e-9, 1e9, -1.0])
def test_the_unit_of_the_values_does_not_stop_a_search(method: str, scale: float) -> None:
    search = build(method, grid(), 3, 4)
    keys = []
    for _ in range(9):
        point = asked(search)
        keys.append(grid().key(point))
        search.tell(point, bowl(point) * scale)
    assert len(set(keys)) == 9


@learning
def test_the_unit_of_the_values_does_not_change_what_is_asked(method: str) -> None:
    def trajectory(scale: float) -> list[Parametrization]:
        search, points = build(method, grid(), 3, 4), list[Parametrization]()
        for _ in range(9):
            points.append(asked(search))
            search.tell(points[-1], bowl(points[-1]) * scale)
        return points

    assert trajectory(1.0) == trajectory(1024.0)


@every_method
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_a_number_is_refused(method: str, value: float) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        build(method, small(), 1, 2).tell(small().points[0], value)


@every_method
def test_a_failure_cannot_be_censored(method: str) -> None:
    with pytest.raises(ValueError, match="censored without a value"):
        build(method, small(), 1, 2).tell(small().points[0], None, censored=True)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("exhaustive", "screening", "stepwise")])
def test_another_seed_asks_for_other_points(method: str) -> None:
    first = [asked(build(method, grid(), seed, 10)) for seed in range(8)]
    assert len({tuple(point.values()) for point in first}) > 1


@pytest.mark.slow
@every_method
def test_a_space_of_200_000_points_asks_within_seconds(method: str) -> None:
    axis = tuple(range(20))
    space = Space((Parameter("a", axis), Parameter("b", axis), Parameter("c", axis), Parameter("d", tuple(range(25)))))
    assert len(space.points) == 200_000
    search = build(method, space, 1, 3)
    for point in space.points[::2_000]:
        search.tell(point, 1.0 + float(point["a"]) + float(point["d"]))
    pending = [asked(search)]  # the first call of `ask` makes the computations that are needed once per space
    begin = time.process_time()
    for _ in range(3):
        pending.append(asked(search, pending))
    assert time.process_time() - begin < 3 * 4.0


@every_method
def test_a_space_too_large_to_be_listed_is_searched_all_the_same(method: str) -> None:  # SHAMan, defect 10
    """The space has 10^9 points, and no method may list them."""
    space = Space([Parameter(name, tuple(range(1000)), "log") for name in "abc"])
    search, keys = build(method, space, 1, 4), []
    for index in range(8):
        point = asked(search)
        keys.append(space.key(point))
        search.tell(point, 1.0 + index)
    assert len(set(keys)) == 8


@pytest.mark.slow
@every_method
def test_a_large_product_of_few_distinct_points_is_searched_to_the_end(method: str) -> None:
    """Two of the three dimensions have no effect, so only 3 of the 260 x 260 x 3 points are distinct."""
    space = Space(
        (Parameter("a", (0, 1, 2)), Parameter("b", tuple(range(260))), Parameter("c", tuple(range(260)))),
        lambda point: {"a": point["a"], "b": 0, "c": 0},
    )
    assert len(tell_all(build(method, space, 1, 2), space)) == 3
