# SPDX-License-Identifier: Apache-2.0
"""Test the benchmark of learned windows with few contexts."""

from __future__ import annotations

import pytest

from bench.patterns.bandits import NOISE, PRODUCT, WORSE, drawn, follow, result, shares
from reprise.matcher.council.council_settings import WINDOWS, Learner
from reprise.matcher.council.offline_twin import best_window
from tests.unit.matcher.council.council_values import seeded


@pytest.mark.parametrize("learner", list(Learner))
def test_learners_reach_95_percent_of_the_oracle_after_100_decisions(learner: Learner) -> None:
    assert all(later >= 0.95 for _, later in shares(PRODUCT[learner], seed=1, contexts=5))


@pytest.mark.slow
def test_the_bar_of_95_percent_is_met_with_every_seed() -> None:
    found = result(seeds=3, contexts=10, long_run=1000)
    assert found["bandit_share"] >= 0.95
    assert set(found["learners"]) == {*Learner, "epsilon_without_budget"}
    assert found["precision"] == pytest.approx(0.871, abs=0.035)


def test_other_windows_of_a_context_are_10_to_60_percent_worse() -> None:
    for seed in range(10):
        rewards = drawn(seeded(seed))
        means = {window: sum(values) / len(values) for window, values in rewards.items()}
        best = best_window(rewards)
        worse = [1 - means[window] / means[best] for window in WINDOWS if window != best]
        assert WORSE[0] - NOISE / 2 < min(worse) and max(worse) < WORSE[1] + NOISE / 2


def test_a_change_that_is_not_followed_counts_as_the_most_rounds() -> None:
    assert follow(PRODUCT[Learner.UCB1], seed=1, most=1) == 1
