# SPDX-License-Identifier: Apache-2.0
"""Test estimates and choices of a bandit on values computed by hand."""

from __future__ import annotations

import pytest

from reprise.matcher.council.bandit import Bandit, bonus
from reprise.matcher.council.council_settings import WINDOWS, CouncilSettings, Learner
from reprise.matcher.council.offline_twin import play
from tests.unit.matcher.council.council_values import WRITES, seeded

FOREVER = CouncilSettings(memory=0)


def learned(rewards: dict[int, list[float]], settings: CouncilSettings = FOREVER) -> Bandit:
    bandit = Bandit(settings)
    for window, values in rewards.items():
        for value in values:
            bandit.update(window, value)
    return bandit


@pytest.mark.parametrize("memory", [0, 32])
def test_rewards_10_and_20_of_one_arm_give_a_mean_of_15_after_two_tries(memory: int) -> None:
    arm = learned({500: [10, 20]}, CouncilSettings(memory=memory)).arms[500]
    assert (arm.mean, arm.tries) == (15, 2)


def test_an_untried_arm_is_chosen_first_by_ucb1() -> None:
    bandit = learned({window: [100] for window in WINDOWS if window != 250})
    assert bandit.upper(seeded(1)) == 250


def test_the_bonus_of_an_arm_taken_10_times_before_step_100_is_0_9597() -> None:
    assert bonus(100, 10) == pytest.approx(0.9597, abs=0.00005)


def test_the_bonus_decides_between_equal_means_of_ucb1() -> None:
    bandit = learned({window: [100.0] * 11 for window in WINDOWS} | {2000: [100.0] * 10})
    assert bandit.upper(seeded(1)) == 2000
    assert learned({window: [100.0] * 10 for window in WINDOWS} | {2000: [150.0] * 10}).upper(seeded(1)) == 2000


@pytest.mark.parametrize(("normalized", "explores"), [(True, True), (False, False)])
def test_ucb1_explores_with_normalized_rewards_and_not_with_raw_ones(normalized: bool, explores: bool) -> None:
    rewards = {window: [100.0 + 10 * index] for index, window in enumerate(WINDOWS)}
    settings = CouncilSettings(learner=Learner.UCB1, normalized=normalized, harm_share=1)
    windows = [choice.window for choice in play(WRITES, rewards, settings, 200, seeded(1))]
    worse = [windows[20:].count(window) for window in WINDOWS[:-1]]
    assert all(worse) if explores else not any(worse)


def test_no_bandwidth_is_no_reward() -> None:
    bandit = learned({500: [10, 0]})
    assert (bandit.arms[500].mean, bandit.tries) == (10, 1)


def test_a_window_that_is_not_in_the_settings_is_not_learned() -> None:
    assert learned({501: [10]}).tries == 0


def test_ties_are_broken_at_random() -> None:
    bandit, rng = Bandit(FOREVER), seeded(1)
    assert {bandit.greedy(rng) for _ in range(100)} == set(WINDOWS)
    assert {learned({125: [5], 250: [5], 500: [4]}).greedy(rng) for _ in range(50)} == {125, 250}


def test_the_peak_is_the_largest_of_all_rewards_without_a_memory() -> None:
    assert learned({500: [10, 20, 5]}).arms[500].peak == 20


def test_only_the_last_rewards_count() -> None:
    bandit = learned({500: [100, 7, 8, 9]}, CouncilSettings(memory=3))
    arm = bandit.arms[500]
    assert (arm.mean, arm.peak, arm.tries) == (8, 9, 4)
