# SPDX-License-Identifier: Apache-2.0
"""Search methods: one conformance suite for all, then what is particular to each."""

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from tuner.search import METHODS, build, design
from tuner.search.encoding import Matrix, encode
from tuner.search.gp import GaussianProcessSearch, expected_improvement
from tuner.space import Parameter, Parametrization, Space

SEGMENTS = (0, *(2**k for k in range(2, 21)))
FANS = tuple(2**k for k in range(10))


def without_dead_dimensions(point: Parametrization) -> Parametrization:
    """Only algorithm 2 looks at the fan-out, and 0 and 1 at nothing, as with a broadcast."""
    kept = dict(point)
    if point["algorithm"] in (0, 1):
        kept["segment"] = 0
    if point["algorithm"] != 2:
        kept["fan"] = 1
    return kept


def grid(canonical: Callable[[Parametrization], Parametrization] = without_dead_dimensions) -> Space:
    return Space(
        (
            Parameter("algorithm", tuple(range(10)), "category"),
            Parameter("segment", SEGMENTS, "log"),
            Parameter("fan", FANS, "log"),
        ),
        canonical,
    )


def small() -> Space:
    return Space((Parameter("a", (0, 1, 2)), Parameter("b", ("x", "y"), "category"), Parameter("c", (7,))))


def bowl(point: Parametrization) -> float:
    """A smooth landscape with its minimum, 1.0, at algorithm 4 and segment 4096."""
    return 1 + 0.5 * (point["algorithm"] != 4) + 0.02 * (math.log2(1 + float(point["segment"])) - 12) ** 2


every_method = pytest.mark.parametrize("method", METHODS)


@every_method
def test_every_point_is_asked_once_and_then_none(method: str) -> None:
    search = build(method, small(), 1, 4)
    asked = []
    while (point := search.ask()) is not None:
        asked.append(tuple(point.values()))
        search.tell(point, 1.0)
    assert sorted(asked) == sorted(tuple(point.values()) for point in small().points)


@every_method
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**63),
    told=st.lists(st.one_of(st.none(), st.floats(1e-9, 1e9), st.just(1.0), st.floats(-5, 5)), max_size=12),
)
def test_a_search_rebuilt_by_telling_asks_the_same_next_point(method: str, seed: int, told: list[float | None]) -> None:
    space = grid()
    search = build(method, space, seed, 5)
    history: list[tuple[Parametrization, float | None]] = []
    for value in told:
        point = search.ask()
        assert point is not None
        assert space.key(point) not in {space.key(seen) for seen, _ in history}
        assert search.ask() == point
        search.tell(point, value)
        history.append((point, value))
    rebuilt = build(method, space, seed, 5)
    for point, value in history:
        rebuilt.tell(point, value)
    assert rebuilt.ask() == search.ask()


@every_method
def test_a_point_told_without_being_asked_is_not_asked(method: str) -> None:
    search = build(method, small(), 1, 6)
    for point in small().points[:-1]:
        search.tell(point, None)
    assert search.ask() == small().points[-1]


@every_method
def test_only_canonical_points_are_asked(method: str) -> None:
    space, search = grid(), build(method, grid(), 3, 10)
    for _ in range(20):
        point = search.ask()
        assert point is not None and point == space.canonical(point)
        search.tell(point, bowl(point))


@every_method
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_refused(method: str, value: float) -> None:
    with pytest.raises(ValueError, match="no finite number"):
        build(method, small(), 1, 2).tell(small().points[0], value)


@every_method
def test_replicates_and_points_that_behave_alike_are_one_point(method: str) -> None:
    search = build(method, grid(), 1, 2)
    search.tell({"algorithm": 1, "segment": 0, "fan": 1}, 1.0)
    search.tell({"algorithm": 1, "segment": 4096, "fan": 8}, 2.0)
    search.tell({"algorithm": 1, "segment": 0, "fan": 1}, None)
    for _ in range(8):
        point = search.ask()
        assert point is not None and point["algorithm"] != 1
        search.tell(point, 3.0, censored=True)


@every_method
def test_parallel_asks_differ(method: str) -> None:
    search, pending = build(method, small(), 1, 2), []
    while (point := search.ask(pending)) is not None:
        assert point not in pending
        pending.append(point)
    assert len(pending) == len(small().points)
    assert search.ask() == pending[0]


@every_method
def test_the_points_of_a_warm_start_are_asked_first(method: str) -> None:
    first = [small().points[4], {"a": 99, "b": "x", "c": 7}, small().points[2]]
    search = build(method, small(), 1, 3, first=first)
    assert search.ask() == first[0]
    assert search.ask([first[0]]) == first[2]


@pytest.mark.parametrize("method", ["gp-ei", "random"])
def test_another_seed_is_another_search(method: str) -> None:
    first = [build(method, grid(), seed, 10).ask() for seed in range(8)]
    assert len({tuple(point.values()) for point in first if point}) > 1


def test_zero_deviation_leaves_the_certain_improvement() -> None:
    result = expected_improvement(np.array([1.0, 3.0, 2.0]), np.zeros(3), 2.0)
    assert result.tolist() == [1.0, 0.0, 0.0]


def test_expected_improvement_tends_to_its_limit_as_the_deviation_vanishes() -> None:
    mean = np.array([1.0, 3.0, 2.0])
    assert np.allclose(expected_improvement(mean, np.full(3, 1e-12), 2.0), [1.0, 0.0, 0.0], atol=1e-11)


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(0.05, 3), st.floats(-3, 3))
def test_expected_improvement_is_the_mean_of_the_improvement(mean: float, deviation: float, best: float) -> None:
    x = np.linspace(mean - 9 * deviation, mean + 9 * deviation, 40_001)
    density = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    expected = trapezoid(np.maximum(best - x, 0) * density, x)
    assert expected_improvement(np.array([mean]), np.array([deviation]), best)[0] == pytest.approx(expected, abs=1e-5)


def test_the_asked_point_has_the_greatest_expected_improvement_of_the_grid() -> None:
    """Against a posterior computed here, from the formulas: mu = k' K^-1 y, sigma^2 = 1 - k' K^-1 k."""
    space = small()
    observed = [space.points[0], space.points[3], space.points[4]]
    values = [3.0, 1.0, 2.0]
    search = GaussianProcessSearch(space, 1)
    for point, value in zip(observed, values, strict=True):
        search.tell(point, value)
    y = np.log(values)
    y = (y - y.mean()) / y.std()

    def covariance(a: list[Parametrization], b: list[Parametrization]) -> Matrix:
        squares = ((encode(space, a)[:, None, :] - encode(space, b)[None, :, :]) ** 2).sum(axis=2)
        similarities: Matrix = np.exp(-squares / 2)
        return similarities

    unseen = [point for point in space.points if point not in observed]
    inverse = np.linalg.inv(covariance(observed, observed) + 1e-3 * np.eye(3))
    k = covariance(unseen, observed)
    deviation = np.sqrt(1 - np.einsum("ij,jk,ik->i", k, inverse, k))
    improvement = expected_improvement(k @ inverse @ y, deviation, y.min())
    assert search.ask() == unseen[int(improvement.argmax())]


def test_a_failed_point_is_treated_as_the_worst_seen() -> None:
    failed, worst = (build("gp-ei", grid(), 5, 10) for _ in range(2))
    for index in range(10):
        point = failed.ask()
        assert point is not None
        failed.tell(point, None if index == 4 else 1.0 + index)
        worst.tell(point, 10.0 if index == 4 else 1.0 + index)
    assert failed.ask() == worst.ask()


def test_the_model_finds_what_random_search_does_not() -> None:
    def found(method: str, seed: int) -> float:
        search, best = build(method, grid(), seed, 10), math.inf
        for _ in range(30):
            point = search.ask()
            assert point is not None
            search.tell(point, bowl(point))
            best = min(best, bowl(point))
        return best

    model, chance = ([found(method, seed) for seed in range(8)] for method in ("gp-ei", "random"))
    assert max(model) < 1.05
    assert np.mean(chance) > np.mean(model) + 0.05


def test_asking_is_quick_at_2000_points_and_100_observations() -> None:
    space = grid(canonical=lambda point: point)
    assert len(space.points) == 2000
    search = GaussianProcessSearch(space, 1)
    for point in space.points[::20]:
        search.tell(point, bowl(point))
    search.ask()  # imports, caches
    begin = time.process_time()
    search.ask()
    assert time.process_time() - begin < 0.150


def test_a_hypercube_shares_no_value_on_any_axis() -> None:
    space = grid(canonical=lambda point: point)
    points = design.hybrid(space, 10, np.random.default_rng(1))
    for parameter in space.parameters:
        assert len({point[parameter.name] for point in points}) == 10


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 40), st.integers(0, 2**32))
def test_a_design_beyond_the_shortest_axis_is_filled_with_other_points(
    lengths: list[int], size: int, seed: int
) -> None:
    space = Space([Parameter(str(axis), tuple(range(length))) for axis, length in enumerate(lengths)])
    points = design.hybrid(space, size, np.random.default_rng(seed))
    assert len({space.key(point) for point in points}) == len(points) == min(size, math.prod(lengths))
    shortest = min([size, *(length for length in lengths if length > 1)])
    for parameter in space.parameters:
        if len(parameter.values) > 1:
            assert len({point[parameter.name] for point in points[:shortest]}) == shortest


def test_encoding_treats_zero_and_categories_as_values() -> None:
    space = Space((Parameter("a", ("x", "y", "z"), "category"), Parameter("b", (0, 1, 3), "log"), Parameter("c", (5,))))
    matrix = encode(space, space.points)
    assert matrix.shape == (9, 4)
    assert np.linalg.norm(matrix[0, :3] - matrix[3, :3]) == pytest.approx(1.0)
    assert matrix[:3, 3] == pytest.approx([-math.sqrt(1.5), 0.0, math.sqrt(1.5)])
