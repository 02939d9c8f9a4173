# SPDX-License-Identifier: Apache-2.0
"""Test estimates and choices of a bandit on values computed by hand."""

from __future__ import annotations

import pytest

from reprise.matcher.council.bandit import Bandit, bonus
from reprise.matcher.council.council_settings import WINDOWS, CouncilSettings, Learner
from reprise.matcher.council.offline_twin import play
from tests.unit.matcher.council.council_values import WRITES, seeded

FOREVER = CouncilSettings(memory=0, caution=0)


def learned(rewards: dict[int, list[float]], settings: CouncilSettings = FOREVER) -> Bandit:
    bandit = Bandit(settings)
    for window, values in rewards.items():
        for value in values:
            bandit.update(window, value)
    return bandit


def test_a_window_replaces_the_default_only_if_it_is_better_by_a_standard_error() -> None:
    """The default's rewards 90 and 110 have a variance of 200: the error of one reward is sqrt(200 * 1.5) = 17.3."""
    rng = seeded(1)
    for second, chosen in ((117, 0), (118, 500)):
        assert learned({0: [90, 110], 500: [second]}, CouncilSettings()).greedy(rng) == chosen
    assert learned({0: [100], 500: [900]}, CouncilSettings()).greedy(rng) == 0  # the noise is unknown
    assert learned({0: [100], 500: [120, 120]}, CouncilSettings()).greedy(rng) == 500  # there is none
    assert (
        learned({250: [100], 500: [120]}, CouncilSettings()).greedy(rng) == 0
    )  # it may be better: it was not measured
    assert learned({0: [90, 110], 500: [101]}, CouncilSettings(caution=0)).greedy(rng) == 500
    assert learned({250: [100], 500: [120]}, CouncilSettings(caution=0)).greedy(rng) == 500
    assert learned({0: [90, 110], 500: [101]}, CouncilSettings(memory=0)).greedy(rng) == 500


def test_noise_keeps_the_default_where_no_window_helps() -> None:
    """The others are 5 % worse, with noise of 10 %; votes are remembered as they are when they are followed."""
    rng, votes = seeded(2), dict[float, list[int]]()
    for caution in (0.0, 1.0):
        votes[caution] = []
        for _ in range(20):
            bandit = Bandit(CouncilSettings(caution=caution))
            for window in (*WINDOWS, 0):
                bandit.update(window, (100 if window == 0 else 95) * rng.gauss(1, 0.1))
            for _ in range(100):
                vote = bandit.greedy(rng)
                votes[caution].append(vote)
                bandit.update(vote, (100 if vote == 0 else 95) * rng.gauss(1, 0.1))
    wrong = {caution: sum(map(bool, chosen)) / len(chosen) for caution, chosen in votes.items()}
    assert wrong[1] < wrong[0] / 2


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
