# SPDX-License-Identifier: Apache-2.0
"""Test the simulation of the council with measured bandwidths."""

from __future__ import annotations

from statistics import fmean

import pytest

from reprise.matcher.council.council_settings import THESIS_WINDOWS, WINDOWS, CouncilSettings, Learner
from reprise.matcher.council.offline_twin import (
    ReplayPolicy,
    Simulation,
    best_window,
    evaluate,
    measurements,
    play,
)
from reprise.matcher.council.replay_report import document, replay, text
from tests.unit.matcher.council.council_values import READS, WRITES, report, seeded

REWARDS = {window: [100.0 + index] for index, window in enumerate(THESIS_WINDOWS)}  # 8 ms is best
SHORT = Simulation(decisions=40, repetitions=3)


def test_the_long_run_precision_with_epsilon_0_15_and_7_windows_is_0_871() -> None:
    """1 - eps + eps / k, since exploring may choose the best window too (Bez 2020, section 4.2.2)."""
    settings = CouncilSettings(Learner.EPSILON, epsilon=0.15, windows=THESIS_WINDOWS, default_window=1000, harm_share=1)
    windows = [choice.window for choice in play(WRITES, REWARDS, settings, 5000, seeded(1))][200:]
    precision = windows.count(8000) / len(windows)
    assert precision == pytest.approx(0.871, abs=3 * (0.871 * 0.129 / len(windows)) ** 0.5)


def test_the_oracle_keeps_the_best_window_and_fixed_its_own() -> None:
    oracle = evaluate(ReplayPolicy.ORACLE, WRITES, REWARDS, SHORT)
    fixed = evaluate(ReplayPolicy.FIXED, WRITES, REWARDS, SHORT, window=125)
    assert oracle and set(oracle.precision) == {1} and oracle.performance == pytest.approx([1] * 4)
    assert fixed and set(fixed.precision) == {0} and fixed.performance == pytest.approx([100 / 106] * 4)


def test_a_fixed_window_that_was_not_measured_has_no_outcome() -> None:
    assert evaluate(ReplayPolicy.FIXED, WRITES, {125: [1.0], 250: [2.0]}, SHORT) is None


def test_learners_start_with_the_measured_window_nearest_to_the_default() -> None:
    outcome = evaluate(ReplayPolicy.EPSILON, WRITES, {125: [1.0], 4000: [2.0]}, Simulation(1, 1), window=3000)
    assert outcome and outcome.precision == [1]


@pytest.mark.parametrize("policy", [ReplayPolicy.EPSILON, ReplayPolicy.UCB1])
def test_results_depend_on_the_seed_only(policy: ReplayPolicy) -> None:
    noisy = {window: [90.0, 110.0 + index] for index, window in enumerate(WINDOWS)}
    found = [evaluate(policy, WRITES, noisy, Simulation(40, 3, seed)) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_precision_and_performance_are_means_over_bins_of_ten_decisions() -> None:
    outcome = evaluate(ReplayPolicy.ORACLE, WRITES, {125: [1.0], 250: [2.0]}, Simulation(25, 2))
    assert outcome and len(outcome.precision) == 3
    assert outcome.after(20) == fmean(outcome.performance[2:]) == outcome.after(1000)


def test_measurements_are_grouped_by_pattern_and_window() -> None:
    reports = [
        report("a", 1000, 10),
        report("b", 1000, 20),
        report("a", 250, 30),
        report("a", 250, 0),
        report("a", 250, 40, READS),
        report("a", 250, 50, None),
    ]
    assert measurements(reports) == {READS: {250: [40]}, WRITES: {250: [30], 1000: [10, 20]}}
    assert measurements([]) == {}


def test_measurements_with_a_low_load_are_corrected() -> None:
    reports = [report("a", 1000, 100), report("a", 1000, 30, load=60), report("a", 250, 30, load=30)]
    assert measurements(reports) == {WRITES: {1000: [100, 50]}}


def test_the_smallest_of_equally_good_windows_is_the_best() -> None:
    assert best_window({500: [2.0], 125: [1.0, 3.0], 250: [1.0]}) == 125


def test_a_replay_lists_patterns_that_cannot_be_compared() -> None:
    found = replay({WRITES: REWARDS, READS: {125: [1.0]}}, list(ReplayPolicy), SHORT, 1000)
    assert list(found.contexts) == [WRITES] and found.left_out == [READS]
    lines = text(found).splitlines()
    assert lines[0].split()[:2] == ["pattern", "best"] and len(lines) == 6
    assert lines[-1] == f"left out, with only one window: {READS}"
    assert [one["policy"] for one in document(found)["contexts"][0]["policies"]] == list(ReplayPolicy)
    assert text(replay({}, list(ReplayPolicy), SHORT, 1000)) == "no pattern was measured with two windows"
