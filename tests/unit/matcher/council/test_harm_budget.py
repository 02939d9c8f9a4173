# SPDX-License-Identifier: Apache-2.0
"""Test the budget of harm on sums computed by hand."""

from __future__ import annotations

import pytest

from reprise.matcher.council.harm_budget import Harm, lost_bytes


def test_the_loss_is_what_the_best_window_would_have_moved_in_addition() -> None:
    assert lost_bytes(60, mean=30, best=50) == pytest.approx(40)  # 2 seconds at 50 instead of 30
    assert lost_bytes(60, mean=50, best=30) == 0


def test_nothing_is_known_at_first_so_that_exploring_is_allowed() -> None:
    assert Harm().within(0.01, 100)


def test_half_of_the_budget_can_be_spent_at_once_and_the_rest_as_rounds_pass() -> None:
    first = Harm().after(moved=1000, lost=0, horizon=100)
    assert first.within(0.01, 100)
    for lost, allowed in ((505, True), (506, False)):  # 0.01 * 1000 * (100 + 1) / 2
        assert Harm(first.rounds, first.moved, lost).within(0.01, 100) is allowed
    for lost, allowed in ((1000, True), (1001, False)):  # 0.01 * 1000 * (100 + 100) / 2
        assert Harm(100, 100_000, lost).within(0.01, 100) is allowed


def test_rounds_before_the_horizon_count_less_and_less() -> None:
    harm = Harm(100, 100_000, 1010).after(moved=1000, lost=0, horizon=100)
    assert harm.rounds == 100 and harm.moved == pytest.approx(100_000)
    assert harm.lost == pytest.approx(1000)
    assert harm.within(0.0101, 100)
