# SPDX-License-Identifier: Apache-2.0
"""Means and gains with their bounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.tuner.model.statistics import measurement, paired_gain

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


def test_what_slows_both_runs_of_a_pair_does_not_widen_the_bounds() -> None:
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
    """For 5 pairs without any gain, the bound is over 0 in 2.5 % of campaigns; with n and 1.96 it would be in 6 %."""
    rng = np.random.default_rng(1)
    samples = rng.lognormal(sigma=0.2, size=(3000, 2, 5))
    over = sum(paired_gain(list(defaults), list(tuned))[1] > 0 for defaults, tuned in samples)
    assert 0.017 < over / 3000 < 0.033
