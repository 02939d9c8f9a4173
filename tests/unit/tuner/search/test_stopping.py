# SPDX-License-Identifier: Apache-2.0
"""Test the default stop rule: a budget of trials, or less than 1 % improvement within 15 trials."""

from collections.abc import Sequence

import pytest

from reprise.tuner.search.stop_rules import StopRule


def trials_until_stop(values: Sequence[float | None], rule: StopRule) -> int:
    return next(n for n in range(len(values) + 1) if rule.reached(values[:n]))


def test_a_flat_objective_stops_after_26_trials() -> None:
    assert trials_until_stop([1.0] * 100, StopRule()) == 26


def test_a_steady_improvement_runs_to_the_budget() -> None:
    values = [0.99**n for n in range(200)]
    assert trials_until_stop(values, StopRule()) == 150
    assert "budget of 150" in StopRule().reached(values)


@pytest.mark.parametrize(("last", "stops"), [(0.9901, True), (0.99, False), (2.0, True)])
def test_an_improvement_of_one_percent_within_the_window_continues_the_search(last: float, stops: bool) -> None:
    values = [1.0] * 25 + [last]
    assert bool(StopRule().reached(values)) == stops


def test_an_improvement_counts_until_it_leaves_the_window() -> None:
    values = [1.0] * 12 + [0.5] + [1.0] * 100
    assert trials_until_stop(values, StopRule()) == 13 + 15


def test_the_rule_is_not_tested_during_the_initial_design() -> None:
    assert trials_until_stop([1.0] * 100, StopRule(initial=20)) == 36


def test_failed_trials_count_as_trials_and_improve_nothing() -> None:
    assert trials_until_stop([1.0] * 10 + [None] * 100, StopRule()) == 26


def test_a_first_success_is_an_improvement() -> None:
    assert not StopRule().reached([None] * 11 + [1.0] * 15)
    assert not StopRule().reached([None] * 40)


def test_a_window_of_zero_leaves_only_the_budget() -> None:
    assert trials_until_stop([1.0] * 50, StopRule(window=0, budget=40)) == 40
