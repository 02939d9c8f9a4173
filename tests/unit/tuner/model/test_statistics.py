# SPDX-License-Identifier: Apache-2.0
"""Test means and gains, and their bounds."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from reprise.tuner.model import statistics
from reprise.tuner.model.statistics import DRIFT, gain_of_jobs, gain_of_sessions, measurement, paired_gain

positive = st.floats(1e-6, 1e3)


def test_a_mean_has_students_bounds_with_n_minus_1() -> None:
    got = measurement([1.0, 2.0, 3.0, 4.0, 5.0], "us")
    half = 2.776445105 * math.sqrt(2.5) / math.sqrt(5)  # t(0.975, 4) from a printed table
    assert (got.mean, got.n, got.unit) == (3.0, 5, "us")
    assert (got.low, got.high) == pytest.approx((3 - half, 3 + half))


def test_a_single_sample_has_itself_as_bounds() -> None:
    assert measurement([2.5], "s").low == measurement([2.5], "s").high == 2.5


def test_a_gain_is_one_minus_the_mean_ratio() -> None:
    gain, low, high = paired_gain([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert (gain, low, high) == pytest.approx((0.5, 0.5, 0.5))


def test_noise_that_slows_both_runs_of_a_pair_does_not_widen_the_bounds() -> None:
    noise = [1.0, 7.0, 2.0, 30.0, 1.5]
    gain, low, high = paired_gain([2 * x for x in noise], [1.9 * x for x in noise])
    assert low == pytest.approx(gain) and high == pytest.approx(gain) and gain == pytest.approx(0.05)


def test_equal_runs_gain_nothing() -> None:
    assert paired_gain([1.0, 1.0], [1.0, 1.0]) == (0.0, 0.0, 0.0)


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=20))
def test_bounds_enclose_the_gain_and_stay_below_one(pairs: list[tuple[float, float]]) -> None:
    gain, low, high = paired_gain([a for a, _ in pairs], [b for _, b in pairs])
    assert low <= gain <= high <= 1


@pytest.mark.parametrize(
    ("defaults", "tuned"), [([1.0], [1.0]), ([1.0, 0.0], [1.0, 1.0]), ([1.0, 1.0], [1.0, -1.0]), ([], [])]
)
def test_too_little_or_impossible_data_is_refused(defaults: list[float], tuned: list[float]) -> None:
    with pytest.raises(ValueError, match="two pairs"):
        paired_gain(defaults, tuned)


def test_the_lower_bound_is_wrong_about_one_time_in_forty() -> None:
    """For 5 pairs without gain, the bound exceeds 0 in 2.5 % of campaigns; with 1.96 instead of Student's t, in 6 %."""
    rng = np.random.default_rng(1)
    samples = rng.lognormal(sigma=0.2, size=(3000, 2, 5))
    over = sum(paired_gain(list(defaults), list(tuned))[1] > 0 for defaults, tuned in samples)
    assert 0.017 < over / 3000 < 0.033


def test_few_pairs_have_students_bounds_alone() -> None:
    ratios = [0.1, 0.2, 0.3, 0.2, 0.1]
    gain, low, high = paired_gain([1.0] * 5, [math.exp(-ratio) for ratio in ratios])
    mean = measurement(ratios, "")
    assert (gain, low, high) == pytest.approx([1 - math.exp(-one) for one in (mean.mean, mean.low, mean.high)])


def test_one_contrary_pair_of_six_leaves_the_gain_unproved() -> None:
    """Student's lower bound alone would be above 3 %, although the sixth pair contradicts the other five."""
    ratios = [0.3, 0.3, 0.3, 0.3, 0.3, -0.01]
    assert measurement(ratios, "").low > 0.03
    assert paired_gain([1.0] * 6, [math.exp(-ratio) for ratio in ratios])[1] < 0


@pytest.mark.parametrize("pairs", [6, 7, 10, 16])
def test_signed_ranks_bounds_are_those_of_scipy_s_test(pairs: int) -> None:
    """A shift is within the bounds exactly if the p-value of SciPy's exact test of the shift exceeds 5 %."""
    ratios = np.random.default_rng(pairs).standard_t(3, pairs)
    low, high = statistics._ranked(list(ratios))
    for bound, outwards in ((low, -1e-6), (high, 1e-6)):
        assert wilcoxon(ratios - bound + outwards, method="exact").pvalue > 0.05
        assert wilcoxon(ratios - bound - outwards, method="exact").pvalue <= 0.05


@pytest.mark.parametrize("estimate", [gain_of_sessions, gain_of_jobs])
def test_one_session_has_the_gain_of_its_pairs(estimate: Callable[..., statistics.Gain]) -> None:
    pairs = [2.0, 2.2, 2.1], [1.0, 1.1, 1.2]
    assert estimate([pairs]) == paired_gain(*pairs)


def test_sessions_of_separate_jobs_are_pooled() -> None:
    """Pooling the pairs of two sessions that agree gives a higher lower bound than `gain_of_sessions` gives."""
    first = [7.5, 7.1, 6.8, 7.4], [6.2, 6.4, 5.8, 6.1]
    second = [7.3, 6.9, 7.6], [6.0, 6.3, 6.1]
    gain, low, high = gain_of_jobs([first, second])
    assert gain == pytest.approx(paired_gain(first[0] + second[0], first[1] + second[1])[0])
    assert 0.05 < low < gain < high < 0.25
    assert gain_of_sessions([first, second])[1] < low


def test_runs_without_noise_still_have_bounds_for_the_drift_between_sessions() -> None:
    pairs = [2.0] * 3, [1.0] * 3
    gain, low, high = gain_of_jobs([pairs, pairs])
    wide = 1.96 * DRIFT / math.sqrt(2)
    assert gain == pytest.approx(0.5)
    assert (1 - high, 1 - low) == pytest.approx((0.5 * math.exp(-wide), 0.5 * math.exp(wide)), rel=1e-4)


def test_bounds_of_separate_jobs_widen_with_the_difference_between_the_sessions() -> None:
    alike, other = ([1.0] * 3, [0.5] * 3), ([1.0] * 3, [0.6] * 3)
    near, far = (gain_of_jobs([alike, one]) for one in (alike, other))
    assert far[2] - far[1] > near[2] - near[1] + 0.2


def test_bounds_of_two_sessions_widen_as_the_sessions_disagree() -> None:
    first, second = ([1.0, 1.0], [0.5, 0.5]), ([1.0, 1.0], [0.8, 0.8])
    gain, low, high = gain_of_sessions([first, second])
    assert 1 - gain == pytest.approx(math.sqrt(0.5 * 0.8))
    assert (1 - high, 1 - low) == pytest.approx((0.5 * 0.5 / 0.8, 0.8 * 0.8 / 0.5))
