# SPDX-License-Identifier: Apache-2.0
"""Test pruning: the time limit after which a trial is stopped as too slow."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.config import Section
from reprise.database.entities import Measurement
from reprise.tuner import noise, search
from reprise.tuner.definition import pruning
from reprise.tuner.definition.pruning import estimate_s, floor_s, settings_of
from reprise.tuner.model.method_settings import SettingsError
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.model.statistics import measurement
from reprise.tuner.noise import Evaluation, winner

DEFAULT = Measurement(100.0, 99.0, 101.0, 4, "s")


def key(point: Parametrization) -> object:
    return tuple(point.items())


def limit_s(
    history: list[Evaluation], default: Measurement | None, settings: Section, point: Parametrization | None = None
) -> float | None:
    return pruning.limit_s(history, default, settings, point or {"a": 0}, key)


def ended(*values: float, censored: tuple[float, ...] = ()) -> list[Evaluation]:
    history = [Evaluation({"a": 1}, value) for value in values]
    return history + [Evaluation({"a": 2}, value, censored=True) for value in censored]


def test_without_a_policy_there_is_no_limit() -> None:
    assert limit_s(ended(1.0), DEFAULT, settings_of("none", {})) is None


@pytest.mark.parametrize("policy", ["default", "estimator", "halving"])
def test_no_limit_before_the_default_is_known(policy: str) -> None:
    assert limit_s(ended(*range(1, 20)), None, settings_of(policy, {})) is None


@pytest.mark.parametrize("policy", ["default", "estimator"])
def test_the_initial_design_is_pruned_too_once_there_is_a_default(policy: str) -> None:
    history = [Evaluation({"a": 1}, 500.0, initial=True)]
    assert limit_s(history, DEFAULT, settings_of(policy, {"factor": 3})) == 300.0


def test_no_limit_is_below_the_time_that_the_default_may_need() -> None:
    estimator = settings_of("estimator", {"factor": 1})
    assert limit_s(ended(*[10.0] * 9), DEFAULT, estimator) == 125.0
    noisy = measurement([80.0, 100.0, 130.0], "s")
    assert limit_s(ended(*[10.0] * 9), noisy, estimator) == pytest.approx(noisy.mean + 2 * (noisy.high - noisy.mean))
    assert floor_s(measurement([100.0], "s"), 1.25) == 125.0


def test_limits_use_run_times_even_if_the_objective_is_not_the_run_time() -> None:
    history = [Evaluation({"a": 1}, value=3e-6, run_s=200.0) for _ in range(5)]
    assert limit_s(history, DEFAULT, settings_of("estimator", {"factor": 2})) == 400.0


def test_an_estimate_waits_for_a_few_trials() -> None:
    settings = settings_of("estimator", {"factor": 2})
    assert limit_s(ended(*[300.0] * 4), DEFAULT, settings) == 200.0
    assert limit_s(ended(*[300.0] * 5), DEFAULT, settings) == 600.0


def repeated(*runs: tuple[float, ...]) -> list[Evaluation]:
    """Return evaluations of points whose parameter a is 1, 2, etc.; `runs` has the run times of each point."""
    return [Evaluation({"a": number}, run) for number, of in enumerate(runs, 1) for run in of]


def test_halving_stops_a_first_run_where_the_worse_half_of_first_runs_begins() -> None:
    halving = settings_of("halving", {})
    first = [(run,) for run in (200.0, 300.0, 400.0, 500.0, 600.0)]
    assert limit_s(repeated(*first[:4]), DEFAULT, halving) is None, "four runs are too few for a limit"
    assert limit_s(repeated(*first), DEFAULT, halving) == 400.0
    assert limit_s(repeated(*first), DEFAULT, settings_of("halving", {"keep": 0.2})) == 200.0


def test_halving_stops_a_repetition_when_its_point_leaves_the_better_half_of_those_repeated_as_often() -> None:
    """The points' means of two runs are 200, 250, 300, 350 and 400 s. A sixth point, run only once, does not count."""
    runs = [(mean - 20, mean + 20, 9000.0) for mean in (200.0, 250.0, 300.0, 350.0, 400.0)]
    history = [*repeated(*runs, (1.0,)), Evaluation({"a": 0}, 280.0)]
    assert limit_s(history, DEFAULT, settings_of("halving", {})) == 2 * 300 - 280
    good = [*repeated(*runs, (1.0,)), Evaluation({"a": 0}, 130.0)]
    assert limit_s(good, DEFAULT, settings_of("halving", {})) == 2 * 300 - 130, "a good point gets a higher limit"
    bad = [*repeated(*runs, (1.0,)), Evaluation({"a": 0}, 590.0)]
    assert limit_s(bad, DEFAULT, settings_of("halving", {})) == 125.0, (
        "the limit is never below what the default may need"
    )


def test_halving_compares_at_the_last_rung_that_enough_points_reached() -> None:
    """The point's next rung is at 4 runs. No other point has reached 4 runs, so means of 2 runs are compared."""
    runs = [(mean, mean, 9000.0) for mean in (200.0, 250.0, 300.0, 350.0, 400.0)]
    history = [*repeated(*runs), *[Evaluation({"a": 0}, 250.0)] * 3]
    assert limit_s(history, DEFAULT, settings_of("halving", {})) == 4 * 300 - 3 * 250


def test_halving_assumes_that_a_stopped_run_would_have_taken_longer() -> None:
    """If stopped runs counted as measurements, three of five runs of 300 s would set the limit to 300 s."""
    stopped = [Evaluation({"a": number}, 300.0, censored=True) for number in (1, 2, 3)]
    history = [*stopped, *(Evaluation({"a": number}, 400.0 + number) for number in (4, 5))]
    assert limit_s(history, DEFAULT, settings_of("halving", {})) == 404.0


@given(st.lists(st.floats(1, 1e3), min_size=1, max_size=30))
def test_without_stopped_runs_an_estimate_is_the_mean_or_median(values: list[float]) -> None:
    runs = [(value, False) for value in values]
    assert estimate_s(runs, "mean") == pytest.approx(statistics.fmean(values))
    assert estimate_s(runs, "median") == statistics.median_low(values)


def test_stopped_runs_do_not_lower_an_estimate() -> None:
    """Runs of 1, 2 and 4 s ended, and one was stopped at 2 s: the Kaplan-Meier mean is (1 + 2) / 4 + 4 / 2 = 2.75 s."""
    runs = [(1.0, False), (2.0, False), (2.0, True), (4.0, False)]
    assert estimate_s(runs, "mean") == pytest.approx(2.75)
    assert estimate_s(runs, "quantile", 0.75) == 4.0
    assert estimate_s([(1.0, False), (2.0, True), (2.0, True)], "median") == 2.0


@pytest.mark.parametrize(
    ("policy", "mapping", "message"),
    [
        ("defalt", {}, "there is no 'defalt': did you mean 'default'?"),
        ("default", {"faktor": 2}, "policy 'default': unknown setting 'faktor': did you mean 'factor'?"),
        ("default", {"factor": 0.5}, "setting 'factor': Input should be greater than or equal to 1 (it is 0.5)"),
        ("halving", {"keep": 1}, "setting 'keep': Input should be less than 1 (it is 1)"),
        ("estimator", {"estimator": "mode"}, "Input should be 'median', 'mean' or 'quantile' (it is 'mode')"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_hint(policy: str, mapping: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of(policy, mapping)
    assert message in str(caught.value)


def campaign(policy: str, method: str, seed: int, repeats: str = "none") -> tuple[float, float, list[Evaluation]]:
    """Return the node-seconds of 40 trials, the true run time of the winner, and the trials.

    Most points of the grid are several times slower than the default; the best point takes a third of the default's
    time.
    """
    space = Space((Parameter("a", tuple(range(10))), Parameter("b", tuple(range(10)))))
    rng = np.random.default_rng(seed)
    settings, default = settings_of(policy, {}), measurement([30.0, 30.6, 29.7], "s")
    asked, history, spent = search.build(method, space, seed, 8), list[Evaluation](), 0.0
    resampling = noise.build(repeats, space, 40, seed)
    for index in range(40):
        point = resampling.again(history) or asked.ask()
        assert point is not None
        away = (float(point["a"]) - 6) ** 2 + (float(point["b"]) - 3) ** 2
        run, limit = (10 + 6 * away) * math.exp(rng.normal(0, 0.02)), limit_s(history, default, settings, point)
        pruned = limit is not None and run > limit
        value = limit if limit is not None and pruned else run
        history.append(Evaluation(point, value, pruned, initial=index < 8))
        asked.tell(point, value, censored=pruned)
        spent += value
    best = winner(history, space)
    assert best is not None
    return spent, 10 + 6 * ((float(best["a"]) - 6) ** 2 + (float(best["b"]) - 3) ** 2), history


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["default", "estimator"])
@pytest.mark.parametrize("method", ["random", "gp-ei"])
def test_pruning_saves_node_time_and_finds_the_same(policy: str, method: str) -> None:
    for seed in range(2):
        (spent, best, history), (without, unpruned, _) = campaign(policy, method, seed), campaign("none", method, seed)
        assert spent < 0.75 * without
        assert best <= unpruned
        assert any(one.censored for one in history if one.initial), "trials of the initial design are pruned, too"
        assert not any(one.censored and one.value is not None and one.value < 37.5 for one in history)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "gp-ei"])
def test_halving_saves_the_repetitions_of_bad_points_for_other_points(method: str) -> None:
    for seed in range(2):
        spent, best, history = campaign("halving", method, seed, "static")
        without, unpruned, repeated_all = campaign("none", method, seed, "static")
        assert spent < without and best <= unpruned
        assert len({key(one.point) for one in history}) > len({key(one.point) for one in repeated_all})
        assert not any(one.censored and one.value is not None and one.value < 37.5 for one in history)
