# SPDX-License-Identifier: Apache-2.0
"""Pruning: when a trial that runs too long is stopped."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from database.model import Measurement
from tuner import search
from tuner.noise import Evaluation, winner
from tuner.pruning import estimate_s, floor_s, limit_s, settings_of
from tuner.settings import SettingsError
from tuner.space import Parameter, Space
from tuner.statistics import measurement

DEFAULT = Measurement(100.0, 99.0, 101.0, 4, "s")


def ended(*values: float, censored: tuple[float, ...] = ()) -> list[Evaluation]:
    history = [Evaluation({"a": 1}, value) for value in values]
    return history + [Evaluation({"a": 2}, value, censored=True) for value in censored]


def test_no_policy_no_limit() -> None:
    assert limit_s(ended(1.0), DEFAULT, settings_of("none", {})) is None


@pytest.mark.parametrize("policy", ["default", "estimator"])
def test_no_limit_before_the_default_is_known(policy: str) -> None:
    assert limit_s(ended(*range(1, 20)), None, settings_of(policy, {})) is None


@pytest.mark.parametrize("policy", ["default", "estimator"])
def test_the_initial_design_is_pruned_too_once_there_is_a_default(policy: str) -> None:
    history = [Evaluation({"a": 1}, 500.0, initial=True)]
    assert limit_s(history, DEFAULT, settings_of(policy, {"factor": 3})) == 300.0


def test_no_limit_is_below_what_the_default_may_need() -> None:
    estimator = settings_of("estimator", {"factor": 1})
    assert limit_s(ended(*[10.0] * 9), DEFAULT, estimator) == 125.0
    noisy = measurement([80.0, 100.0, 130.0], "s")
    assert limit_s(ended(*[10.0] * 9), noisy, estimator) == pytest.approx(noisy.mean + 2 * (noisy.high - noisy.mean))
    assert floor_s(measurement([100.0], "s"), 1.25) == 125.0


def test_run_time_counts_where_the_objective_is_another() -> None:
    history = [Evaluation({"a": 1}, value=3e-6, run_s=200.0) for _ in range(5)]
    assert limit_s(history, DEFAULT, settings_of("estimator", {"factor": 2})) == 400.0


def test_an_estimate_waits_for_a_few_trials() -> None:
    settings = settings_of("estimator", {"factor": 2})
    assert limit_s(ended(*[300.0] * 4), DEFAULT, settings) == 200.0
    assert limit_s(ended(*[300.0] * 5), DEFAULT, settings) == 600.0


@given(st.lists(st.floats(1, 1e3), min_size=1, max_size=30))
def test_without_stopped_runs_an_estimate_is_the_plain_one(values: list[float]) -> None:
    runs = [(value, False) for value in values]
    assert estimate_s(runs, "mean") == pytest.approx(statistics.fmean(values))
    assert estimate_s(runs, "median") == statistics.median_low(values)


def test_stopped_runs_do_not_draw_an_estimate_down() -> None:
    """Kaplan and Meier by hand: 1, 2 and 4 ended, one was stopped at 2: (1 + 2) / 4 + 4 / 2."""
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
        ("estimator", {"estimator": "mode"}, "Input should be 'median', 'mean' or 'quantile' (it is 'mode')"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_hint(policy: str, mapping: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of(policy, mapping)
    assert message in str(caught.value)


def campaign(policy: str, method: str, seed: int) -> tuple[float, float, list[Evaluation]]:
    """Node-seconds that 40 trials take, run time of the best found, and the trials: on a grid of which most points are
    several times slower than the default and the best is a third of it."""
    space = Space((Parameter("a", tuple(range(10))), Parameter("b", tuple(range(10)))))
    rng = np.random.default_rng(seed)
    settings, default = settings_of(policy, {}), measurement([30.0, 30.6, 29.7], "s")
    asked, history, spent = search.build(method, space, seed, 8), list[Evaluation](), 0.0
    for index in range(40):
        point = asked.ask()
        assert point is not None
        away = (float(point["a"]) - 6) ** 2 + (float(point["b"]) - 3) ** 2
        run, limit = (10 + 6 * away) * math.exp(rng.normal(0, 0.02)), limit_s(history, default, settings)
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
        assert any(one.censored for one in history if one.initial), "the initial design holds the worst points"
        assert not any(one.censored and one.value is not None and one.value < 37.5 for one in history)
