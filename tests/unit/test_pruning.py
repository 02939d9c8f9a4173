# SPDX-License-Identifier: Apache-2.0
"""Pruning: when a trial that runs too long is stopped."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from database.model import Measurement
from tuner.noise import Evaluation, SettingsError
from tuner.pruning import estimate_s, floor_s, limit_s, settings_of
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
        ("defalt", {}, "pruning.policy: there is no policy 'defalt': did you mean 'default'?"),
        (
            "default",
            {"faktor": 2},
            "pruning.settings.faktor: policy 'default' has no such setting: did you mean 'factor'?",
        ),
        ("default", {"factor": 0.5}, "factor: 0.5 is out of bounds"),
        ("estimator", {"estimator": "mode"}, "estimator: there is no 'mode': choose of median, mean, quantile"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_hint(policy: str, mapping: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of(policy, mapping)
    assert message in str(caught.value)
