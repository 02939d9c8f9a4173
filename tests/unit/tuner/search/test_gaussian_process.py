# SPDX-License-Identifier: Apache-2.0
"""Test the Gaussian process search: its formulas against their definitions, and how it treats odd evaluations."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from reprise.tuner.model.space import Parameter, Space
from reprise.tuner.search import build, surrogate
from reprise.tuner.search.acquisition import log_expected_improvement
from reprise.tuner.search.encoding import axes, categories, encode
from reprise.tuner.search.gaussian_process import GaussianProcessSearch
from reprise.tuner.search.value_scale import truncated_mean, warp
from tests.examples import examples
from tests.unit.search_spaces import bowl, grid, small


def test_zero_deviation_leaves_the_certain_improvement() -> None:
    result = log_expected_improvement(np.array([1.0, 3.0, 2.0]), np.zeros(3), 2.0)
    assert np.exp(result).tolist() == [1.0, 0.0, 0.0]


def test_expected_improvement_tends_to_its_limit_as_the_deviation_vanishes() -> None:
    result = np.exp(log_expected_improvement(np.array([1.0, 3.0, 2.0]), np.full(3, 1e-12), 2.0))
    assert np.allclose(result, [1.0, 0.0, 0.0], atol=1e-11)


@settings(max_examples=examples(50))
@given(st.floats(-3, 3), st.floats(0.05, 3), st.floats(-3, 3))
def test_expected_improvement_is_the_mean_of_the_improvement(mean: float, deviation: float, best: float) -> None:
    x = np.linspace(mean - 9 * deviation, mean + 9 * deviation, 40_001)
    density = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    expected = np.trapezoid(np.maximum(best - x, 0) * density, x)
    found = math.exp(log_expected_improvement(np.array([mean]), np.array([deviation]), best)[0])
    assert found == pytest.approx(expected, abs=1e-5)


def test_far_from_the_best_the_improvement_still_distinguishes_points() -> None:
    """The expected improvement underflows to 0 beyond 38 standard deviations, so its logarithm is computed directly."""
    means = np.concatenate([np.linspace(-1, 200, 2_000), [998.0, 999.9, 1000.1, 1e4, 1e8]])
    logs = log_expected_improvement(means, np.ones(len(means)), 0.0)
    assert np.isfinite(logs).all()
    assert (np.diff(logs) < 0).all()


@pytest.mark.parametrize("kernel", surrogate.KERNELS)
def test_the_gradient_is_that_of_the_posterior(kernel: str) -> None:
    space, rng = grid(), np.random.default_rng(1)
    rows = encode(space, space.points[::29])
    values, counts = rng.standard_normal(len(rows)), rng.integers(1, 5, len(rows)).astype(float)
    problem = surrogate._Posterior(rows, values, counts, axes(space), categories(space), kernel, surrogate.Prior())
    for _ in range(3):
        logs = problem.mean + rng.normal(0, 0.5, len(problem.mean))
        wrong = check_grad(lambda x: problem(x)[0], lambda x: problem(x)[1], logs)
        assert wrong < 1e-4 * np.linalg.norm(problem(logs)[1])


def test_nothing_overflows_as_far_as_the_optimizer_goes() -> None:
    """Without bounds, the optimizer sometimes tried length scales whose square is infinite."""
    space = grid()
    rows = encode(space, space.points[::40])
    values, counts = np.linspace(-4, 4, len(rows)), np.ones(len(rows))
    problem = surrogate._Posterior(rows, values, counts, axes(space), categories(space), "rbf", surrogate.Prior())
    with np.errstate(over="raise", invalid="raise"):
        for corner in itertools.product(*problem.bounds):
            cost, gradient = problem(np.array(corner))
            assert math.isinf(cost) or np.isfinite(gradient).all()


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "reference"), [("matern52", 2.5), ("matern32", 1.5), ("rbf", None)])
def test_the_prediction_is_scikit_learns_with_the_same_hyperparameters(kernel: str, reference: float | None) -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, Matern

    space, rng = Space([Parameter(name, tuple(range(9))) for name in "ab"]), np.random.default_rng(2)
    rows, wanted = encode(space, space.points[::5]), encode(space, space.points)
    values, counts = rng.standard_normal(len(rows)), rng.integers(1, 4, len(rows)).astype(float)
    model = surrogate.fit(rows, values, counts, axes(space), categories(space), kernel)
    shape = RBF(model.lengths, "fixed") if reference is None else Matern(model.lengths, "fixed", nu=reference)
    noise = (model.noise / counts + surrogate.JITTER) / model.signal
    theirs = GaussianProcessRegressor(shape, alpha=noise, optimizer=None).fit(rows, values)
    mean, deviation = theirs.predict(wanted, return_std=True)
    found = model.predict(wanted)
    assert np.allclose(found[0], mean, atol=1e-6)
    assert np.allclose(found[1], deviation * math.sqrt(model.signal), atol=1e-5)


def test_an_axis_that_does_nothing_gets_a_longer_length_scale_than_one_that_does() -> None:
    space = Space([Parameter(name, tuple(range(8))) for name in "ab"])
    points = space.points[::3]
    values = warp(np.array([2 + math.sin(float(point["a"])) for point in points]), "plain")
    model = surrogate.fit(encode(space, points), values, np.ones(len(points)), axes(space), categories(space))
    assert model.lengths[1] > 3 * model.lengths[0]


def test_replicates_make_the_model_surer_of_a_point() -> None:
    space = Space([Parameter("a", tuple(range(6)))])
    rows, values = encode(space, space.points), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    once, often = (
        surrogate.fit(rows, values, np.array([1.0, 1, 1, count, 1, 1]), axes(space), categories(space))
        for count in (1, 50)
    )
    assert abs(often.predict(rows)[0][3] + 1) / often.noise < abs(once.predict(rows)[0][3] + 1) / once.noise


@pytest.mark.parametrize("how", ["warped", "log", "plain"])
def test_warped_values_keep_their_order_and_do_not_depend_on_the_unit(how: str) -> None:
    values = np.array([3.0, 1.0, 2.0, 2.0, 1000.0])
    result = warp(values, how)
    assert result.mean() == pytest.approx(0) and result.std() == pytest.approx(1)
    assert np.argsort(result, kind="stable").tolist() == np.argsort(values, kind="stable").tolist()
    assert result[2] == result[3]
    assert np.allclose(warp(values * 1e-9, how), result)
    assert warp(np.full(4, 0.1) * 3, how).tolist() == [0.0] * 4


def test_one_very_slow_point_does_not_hide_the_others() -> None:
    values = np.array([1.0, 1.1, 1.2, 1.3, 1e6])
    assert warp(values, "warped")[3] - warp(values, "warped")[0] > 10 * (
        warp(values, "log")[3] - warp(values, "log")[0]
    )


@pytest.mark.slow
@given(st.floats(-5, 5), st.floats(0.01, 5), st.floats(-5, 5))
@settings(max_examples=examples(50))
def test_a_censored_value_is_expected_above_its_bound(mean: float, deviation: float, bound: float) -> None:
    from scipy.stats import truncnorm

    found = truncated_mean(np.array([mean]), np.array([deviation]), np.array([bound]))[0]
    low = (bound - mean) / deviation
    assert found >= bound
    if low < 8:
        assert found == pytest.approx(truncnorm.mean(low, np.inf, mean, deviation), rel=1e-6, abs=1e-6)
    else:
        assert found < bound + deviation


def told_of_stopped_trials(bound: float, censored: bool) -> GaussianProcessSearch:
    """Return a search with three trials stopped at `bound`, `censored` or not, and five that ended (best: 1.5 s)."""
    search = GaussianProcessSearch(Space([Parameter("a", tuple(range(40)))]), 1)
    for place, value in ((0, 3.0), (8, 3.0), (30, 2.0), (35, 1.5), (39, 2.0)):
        search.tell({"a": place}, value)
    for place in (2, 4, 6):
        search.tell({"a": place}, bound, censored=censored)
    return search


@pytest.mark.parametrize("bound", [1.0, 1.2])
def test_the_model_expects_a_censored_point_to_be_worse_than_its_bound(bound: float) -> None:
    """A model that treats the bounds as values expects the best region among the stopped points."""
    bounded, trusting = (told_of_stopped_trials(bound, censored) for censored in (True, False))
    rows = encode(bounded._space, [{"a": 4}, {"a": 30}])
    stopped, measured = bounded._model([])[0].predict(rows)[0]
    assert stopped > measured + 1, "worse by more than one standard deviation of the values"
    stopped, measured = trusting._model([])[0].predict(rows)[0]
    assert stopped < measured
    asked = bounded.ask()
    assert asked is not None and int(asked["a"]) > 10


def test_if_bounds_count_as_values_the_search_continues_among_stopped_points() -> None:
    """Without censoring, the bounds look like the best values."""
    asked = told_of_stopped_trials(1.0, censored=False).ask()
    assert asked is not None and int(asked["a"]) < 10


def test_a_failed_point_is_treated_as_the_worst_seen() -> None:
    failed, worst = (build("gp-ei", grid(), 5, 10) for _ in range(2))
    for index in range(10):
        point = failed.ask()
        assert point is not None
        failed.tell(point, None if index == 4 else 1.0 + index)
        worst.tell(point, 10.0 if index == 4 else 1.0 + index)
    assert failed.ask() == worst.ask()


def test_a_pending_point_keeps_the_next_one_away_from_it() -> None:
    space = Space([Parameter("a", tuple(range(101)))])
    search = GaussianProcessSearch(space, 1)
    for place in (0, 25, 50, 75, 100):
        search.tell({"a": place}, 1.0 + abs(place - 60) / 50)
    first = search.ask()
    assert first is not None
    second = search.ask([first])
    assert second is not None and abs(int(second["a"]) - int(first["a"])) > 2


def test_the_asked_point_has_the_greatest_expected_improvement_of_the_grid() -> None:
    space = small()
    observed = [space.points[0], space.points[3], space.points[4]]
    search = GaussianProcessSearch(space, 1)
    for point, value in zip(observed, [3.0, 1.0, 2.0], strict=True):
        search.tell(point, value)
    rows = encode(space, observed)
    model = surrogate.fit(rows, warp(np.array([3.0, 1.0, 2.0]), "log"), np.ones(3), axes(space), categories(space))
    unseen = [point for point in space.points if point not in observed]
    scores = log_expected_improvement(*model.predict(encode(space, unseen)), float(model.predict(rows)[0].min()))
    assert search.ask() == unseen[int(scores.argmax())]


def told_of_100_of_2000_points() -> GaussianProcessSearch:
    space = grid(canonical=lambda point: point)
    assert len(space.points) == 2000
    search = GaussianProcessSearch(space, 1)
    for point in space.points[::20]:
        search.tell(point, bowl(point))
    search.ask()  # the first call of `ask`, which imports modules and fills caches, is not timed
    return search


def test_asking_at_100_observations_fits_one_model_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    search, evaluations = told_of_100_of_2000_points(), 0
    evaluate = surrogate._Posterior.__call__

    def counted(posterior: surrogate._Posterior, logs: surrogate.Vector) -> tuple[float, surrogate.Vector]:
        nonlocal evaluations
        evaluations += 1
        return evaluate(posterior, logs)

    monkeypatch.setattr(surrogate._Posterior, "__call__", counted)
    search.ask()
    assert 0 < evaluations < 60  # 22 evaluations, which take a millisecond each


@pytest.mark.slow
def test_asking_is_quick_at_2000_points_and_100_observations() -> None:
    """docs/explanation/search.md states 27 ms; with several linear algebra threads, a call of `ask` took 400 ms."""
    search = told_of_100_of_2000_points()
    begin = time.process_time()
    search.ask()
    assert time.process_time() - begin < 0.150


def test_encoding_places_values_by_their_step() -> None:
    space = Space(
        (Parameter("a", ("x", "y", "z"), "category"), Parameter("b", (0, 1, 3, 7, 1023), "log"), Parameter("c", (5,)))
    )
    matrix = encode(space, space.points)
    assert matrix.shape == (15, 4)
    assert np.linalg.norm(matrix[0, :3] - matrix[5, :3]) == pytest.approx(1.0)
    assert matrix[:5, 3] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    assert axes(space).tolist() == [0, 0, 0, 1]
    assert categories(space).tolist() == [True, False]


def test_values_beside_the_grid_lie_between_its_places_or_a_little_outside() -> None:
    space = Space((Parameter("a", (10, 20, 30)),))
    places = encode(space, [{"a": value} for value in (10, 15, 30, 40, 0, 10**9)])[:, 0]
    assert places.tolist() == [0.0, 0.25, 1.0, 1.5, -0.5, 2.0]
