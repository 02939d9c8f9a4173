# SPDX-License-Identifier: Apache-2.0
"""Test the curve that trials give, and which number of forwarders counts as better than direct access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from reprise.database.entities import Measurement, Trial, TrialRole, TrialState
from reprise.tuner.forge.trial_curve import KEY, Values, best, values
from reprise.tuner.model.component import Comparison
from reprise.tuner.model.statistics import measurement

STEADY = (10.0, 10.1, 9.9, 10.0, 10.1)


def trial(
    number: int,
    value: float | None,
    state: TrialState = TrialState.COMPLETE,
    role: TrialRole = TrialRole.SEARCH,
) -> Trial:
    return Trial(1, "app.sh", 1, role, {KEY: number}, state, value)


def comparison(winner: int, gain_low: float) -> Comparison:
    one = Measurement(10.0, 9.0, 11.0, 3, "s")
    return Comparison("app.sh", {KEY: winner}, one, one, gain_low + 0.1, gain_low, gain_low + 0.2)


def of(runs: Mapping[int, Sequence[float]]) -> Values:
    return Values(runs, "s")


def test_runs_of_all_roles_count_and_interrupted_ones_do_not() -> None:
    rows = [
        trial(0, 10.0, role=TrialRole.DEFAULT),
        trial(0, 11.0, role=TrialRole.FINAL_DEFAULT),
        trial(4, 5.0),
        trial(4, 6.0, role=TrialRole.FINAL_TUNED),
        trial(2, None, TrialState.PREEMPTED),
        trial(2, 7.0),
        trial(1, None, TrialState.RUNNING),
    ]
    found = values(rows)
    assert found.runs == {0: [10.0, 11.0], 4: [5.0, 6.0], 2: [7.0]}
    assert list(found.samples(lambda value: 100 / value)) == [0, 2, 4]
    assert found.samples(lambda value: 100 / value)[2] == [pytest.approx(100 / 7)]


@pytest.mark.parametrize("state", [TrialState.FAILED, TrialState.TIMEOUT, TrialState.PRUNED])
def test_a_number_with_a_failed_run_is_left_out_but_direct_access_stays(state: TrialState) -> None:
    rows = [trial(0, 10.0), trial(0, None, state), trial(4, 5.0), trial(4, 8.0, state), trial(2, 7.0)]
    assert values(rows).runs == {0: [10.0], 2: [7.0]}
    assert values([]).runs == {}


def test_a_final_comparison_with_a_gain_is_kept() -> None:
    final = comparison(4, 0.01)
    assert best(of({0: STEADY, 4: STEADY, 2: (1.0, 1.0)}), final) is final


def test_another_number_counts_if_the_winner_is_lost_in_noise() -> None:
    steady = [value / 2 for value in STEADY]
    found = best(
        of({0: STEADY, 4: (1.0, 20.0, 3.0), 2: steady, 8: [value * 0.8 for value in STEADY]}), comparison(4, 0.0)
    )
    assert found is not None
    assert found.winner == {KEY: 2} and (found.default, found.tuned) == (
        measurement(STEADY, "s"),
        measurement(steady, "s"),
    )
    assert 0.45 < found.gain_low < found.gain < found.gain_high < 0.55


@pytest.mark.parametrize(
    "runs",
    [
        {0: STEADY, 4: STEADY},
        {0: STEADY, 4: (1.0,)},
        {0: (10.0,), 4: (1.0, 1.0)},
        {0: (1.0, 30.0), 4: (1.0, 1.0)},
        {0: STEADY, 4: (9.8, 9.9, 10.0)},
        {0: STEADY},
        {4: (1.0, 1.1), 2: (1.0, 1.0)},
        {},
    ],
)
def test_nothing_counts_without_a_gain_beyond_noise(runs: Mapping[int, Sequence[float]]) -> None:
    assert best(of(runs), comparison(4, -0.1)) is None


def test_a_winner_that_failed_later_does_not_count() -> None:
    assert best(of({0: STEADY}), comparison(4, 0.5)) is None
