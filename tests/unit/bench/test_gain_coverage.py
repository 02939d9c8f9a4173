# SPDX-License-Identifier: Apache-2.0
"""Test that the bounds of gains have their nominal coverage under recorded and simulated noise."""

from __future__ import annotations

import pytest

from bench.gain_coverage import NOISES, SHIFTS, coverage
from reprise.tuner.model.statistics import DRIFT

CAMPAIGNS = 400
LUCK = 0.025  # tolerance for the random error of a share that is estimated from CAMPAIGNS campaigns

QUICK = ("heavy tails", "bursts")  # two of the nine kinds of noise
EACH_NOISE = [noise if noise in QUICK else pytest.param(noise, marks=pytest.mark.slow) for noise in NOISES]


@pytest.mark.parametrize("noise", EACH_NOISE)
def test_bounds_of_one_session_hold_for_that_session(noise: str) -> None:
    assert coverage(NOISES[noise], 0.0, CAMPAIGNS)["one"] >= 0.95 - LUCK


# The quick tests use only the greatest shift between sessions, at which wrong bounds are most likely to fail.
@pytest.mark.parametrize("noise", EACH_NOISE)
@pytest.mark.parametrize("shift", [*(pytest.param(one, marks=pytest.mark.slow) for one in SHIFTS[:-1]), SHIFTS[-1]])
def test_bounds_of_two_sessions_hold_whatever_the_shift_between_sessions(noise: str, shift: float) -> None:
    found = coverage(NOISES[noise], shift, CAMPAIGNS)
    assert found["two"] >= 0.95 - LUCK
    assert found["published"] <= 0.025 + LUCK


@pytest.mark.parametrize("noise", EACH_NOISE)
@pytest.mark.parametrize("shift", [0.0, DRIFT])
def test_bounds_of_separate_jobs_hold_up_to_the_assumed_shift_between_sessions(noise: str, shift: float) -> None:
    found = coverage(NOISES[noise], shift, CAMPAIGNS)
    assert found["jobs"] >= 0.95 - LUCK
    assert found["jobs_published"] <= 0.025 + LUCK


def test_bounds_of_one_session_do_not_hold_for_another_session() -> None:
    """Bounds from one session often do not hold for a later session; therefore campaigns have a second session."""
    assert coverage(NOISES["bursts"], 0.15, CAMPAIGNS)["one"] < 0.8


def test_bounds_of_pairs_in_one_order_do_not_hold_on_a_machine_that_slows_down() -> None:
    assert coverage(NOISES["drift"], 0.0, CAMPAIGNS)["fixed"] < 0.7
