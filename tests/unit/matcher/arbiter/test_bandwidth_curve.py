# SPDX-License-Identifier: Apache-2.0
"""Test the bounds of curves, and that values that are no bandwidths are refused."""

from __future__ import annotations

import math
import random

import pytest

from reprise.matcher.arbiter.bandwidth_curve import exact, measured
from reprise.matcher.errors import ArbiterError


def test_a_bound_is_that_of_student_for_logarithms() -> None:
    """With t(0.95, 4) = 2.1318 and values whose logarithms have mean 0 and standard deviation sqrt(5 / 2) / 100."""
    point = measured({2: [math.exp(one / 100) for one in (-2, -1, 0, 1, 2)]})[2]
    assert point.low == pytest.approx(math.exp(-2.1318 * math.sqrt(2.5 / 5) / 100), rel=1e-5)
    assert point.samples == 5


def test_a_single_run_has_no_bound() -> None:
    assert measured({0: [500.0]})[0].low == 0


def test_bounds_of_noisy_runs_hold_as_often_as_stated() -> None:
    """The runs have the geometric mean 1 and the mean 1.05; 190 of 200 bounds should be below the first."""
    rng = random.Random(3)  # noqa: S311 - no secret
    lows = [measured({1: [rng.lognormvariate(0, 0.3) for _ in range(5)]})[1].low for _ in range(200)]
    assert 180 <= sum(low <= 1 for low in lows) <= 199  # the standard deviation is 3
    assert sum(low <= math.exp(0.3**2 / 2) for low in lows) >= 190


def test_a_bound_is_not_above_the_mean() -> None:
    assert measured({1: [100.0, 100.0, 100.0]})[1].low <= 100.0


def test_numbers_are_in_ascending_order() -> None:
    assert list(exact({8: 1.0, 0: 2.0, 2: 3.0})) == [0, 2, 8]


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e12])
def test_a_value_that_is_no_bandwidth_is_refused(value: float) -> None:
    with pytest.raises(ArbiterError, match="state MB/s"):
        exact({1: value})
    with pytest.raises(ArbiterError, match="state MB/s"):
        measured({1: [100.0, value]})


def test_a_curve_without_numbers_or_runs_is_refused() -> None:
    with pytest.raises(ArbiterError, match="at least one number"):
        exact({})
    with pytest.raises(ArbiterError, match="no bandwidth with 4 forwarders"):
        measured({4: []})
    with pytest.raises(ArbiterError, match="-1 forwarders"):
        exact({-1: 5.0})
