# SPDX-License-Identifier: Apache-2.0
"""Test the second session of a campaign, and defaults that vary too much for a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from reprise.database.entities import TrialRole
from reprise.tuner.model.space import Parametrization
from reprise.tuner.steps.step import Later, Start
from tests.unit.tuner_machine import SPACE, Machine, definition, roles, seconds

REPETITIONS = {"default_runs": 2, "final_pairs": 3, "confirm_pairs": 2}


def machine(second: float = 1.0, **repetitions: Any) -> Machine:
    """Return a machine on which the default takes 3.3 s, and the winner 1 s (`second` s in the second session)."""
    made = Machine(definition(repetitions={**REPETITIONS, **repetitions}))

    def value(point: Parametrization) -> float:
        slow = made.session == 2 and roles(made)[-1] == "final-tuned"
        return seconds(point) * (second if slow else 1.0)

    made.value = value
    return made


def finals(made: Machine) -> int:
    return roles(made).count("final-tuned")


def test_a_winner_waits_for_the_second_session_and_both_count() -> None:
    made = machine()
    while isinstance(step := made.step(), Start):
        made.end(made.start())
    assert step == Later(begun=False) and finals(made) == 3
    result = made.to_the_end().result
    assert finals(made) == roles(made).count("final-default") == 5
    assert result.comparison and result.comparison.tuned.n == result.comparison.default.n == 5
    assert result.comparison.gain_low > 0 and not result.note


def test_an_interrupted_second_session_is_continued() -> None:
    made = machine()
    while isinstance(made.step(), Start):
        made.end(made.start())
    made.session = 2
    made.end(made.start())
    made.session = 1
    assert made.step() == Later(begun=True)


@pytest.mark.parametrize("second", [2.0, 3.0, 4.0])
def test_a_gain_that_the_second_session_does_not_confirm_does_not_count(second: float) -> None:
    result = machine(second).to_the_end().result
    assert result.comparison and result.comparison.gain_low <= 0
    assert result.note == "the second session did not confirm it"


def test_sessions_that_agree_more_or_less_widen_the_bounds() -> None:
    alike, apart = (machine(second).to_the_end().result.comparison for second in (1.0, 1.2))
    assert alike and apart and 0 < apart.gain_low < alike.gain_low - 0.05


def in_own_jobs(values: Sequence[float], **repetitions: Any) -> Machine:
    """Return a machine with one job per run.

    The winner's final runs take `values` seconds; the default's take 3.3 s.
    """
    executor, repeated = {"kind": "slurm"}, {**REPETITIONS, **repetitions}
    made = Machine(definition(repetitions=repeated, executor=executor))
    of_pairs = iter(values)
    made.value = lambda point: next(of_pairs) if roles(made)[-1] == "final-tuned" else seconds(point)
    return made


def test_pairs_of_separate_jobs_count_together_though_neither_session_shows_the_gain() -> None:
    result = in_own_jobs([2.9, 3.2, 2.7, 2.9, 2.7]).to_the_end().result
    assert result.comparison and 0 < result.comparison.gain_low < result.comparison.gain < 0.2
    assert not result.note


def test_separate_jobs_that_gain_less_than_times_differ_need_no_second_session() -> None:
    made = in_own_jobs([3.2, 3.3, 3.25])
    result = made.to_the_end().result
    assert made.session == 1 and result.comparison and result.comparison.gain_low <= 0


def test_separate_jobs_whose_second_session_shows_nothing_gain_nothing() -> None:
    result = in_own_jobs([2.9, 2.8, 2.9, 3.3, 3.3]).to_the_end().result
    assert result.comparison and result.comparison.gain_low <= 0
    assert result.note == "the second session did not confirm it"


def test_a_point_that_fails_in_the_second_session_does_not_win() -> None:
    made = machine()
    of_first = made.value
    made.value = lambda point: None if made.session == 2 and roles(made)[-1] == "final-tuned" else of_first(point)
    result = made.to_the_end().result
    assert result.comparison is None
    assert result.note == "the best parametrization failed when it was run again in the second session"


def test_a_point_that_is_no_better_needs_no_second_session() -> None:
    made = machine()
    made.value = lambda _: 1.0 if roles(made)[-1] == "search" else 3.3
    result = made.to_the_end().result
    assert made.session == 1 and result.comparison and result.comparison.gain == 0


def test_the_second_session_follows_the_pairs_that_noise_made_necessary() -> None:
    made = machine(more_pairs=4)
    values = iter([1.0, 5.0, 1.0])
    of_both = made.value
    made.value = lambda point: next(values, 1.0) if roles(made)[-1] == "final-tuned" else of_both(point)
    result = made.to_the_end().result
    assert finals(made) == 3 + 4 + 2 and result.comparison and result.comparison.tuned.n == 9


def test_node_hours_leave_room_for_the_second_session() -> None:
    made = machine()
    made.allowance = 106.0
    result = made.to_the_end().result
    assert finals(made) == 5 and result.comparison and roles(made).count("search") < 9


def test_node_hours_that_do_not_pay_for_the_second_session_are_reported() -> None:
    made = machine()
    while isinstance(made.step(), Start):
        made.end(made.start())
    made.session, made.allowance = 2, 1.0
    result = made.to_the_end().result
    assert result.comparison is None
    assert result.note == "the remaining node-hours are too few for a comparison in the second session"


def varying(defaults: Sequence[float]) -> Machine:
    made = machine(confirm_pairs=0)
    values = iter(defaults)

    def value(point: Parametrization) -> float:
        return next(values) if made.rows[-1].role is TrialRole.DEFAULT else seconds(point)

    made.value = value
    return made


def test_a_default_that_varies_by_more_than_its_mean_is_run_more_often() -> None:
    made = varying([1.0, 4.0, 3.2, 3.4])
    result = made.to_the_end().result
    assert roles(made)[:5] == ["default"] * 4 + ["search"]
    assert result.default.mean == pytest.approx(3.3) and result.default.n == 2
    assert result.comparison and result.comparison.gain_low > 0


def test_a_default_that_keeps_varying_too_much_ends_the_problem_with_a_note() -> None:
    made = varying([1.0, 4.0] * 3)
    result = made.to_the_end().result
    assert roles(made) == ["default"] * 6 and result.comparison is None
    assert result.note == (
        "the default's runs spread by more than their mean (1 to 4 s in 6 runs): nothing can be compared with them"
    )


def test_a_default_that_varies_less_is_not_run_more_often() -> None:
    made = varying([2.2, 4.4])
    made.to_the_end()
    assert roles(made).count("default") == 2


def test_the_second_session_runs_the_same_point() -> None:
    made = machine()
    made.to_the_end()
    assert len({SPACE.key(row.parametrization) for row in made.rows if row.role is TrialRole.FINAL_TUNED}) == 1


def test_a_second_session_that_noise_leaves_open_has_more_pairs() -> None:
    values = [2.5, 2.6, 2.5, 2.5, 3.7, 2.6, 2.5, 2.5]
    made = in_own_jobs(values, more_pairs=3)
    result = made.to_the_end().result
    assert finals(made) == 8
    assert result.comparison and result.comparison.gain_low > 0 and not result.note
    without = in_own_jobs(values[:5]).to_the_end().result
    assert without.note == "the second session did not confirm it"


def test_additional_pairs_of_the_first_session_are_not_repeated_in_the_second() -> None:
    made = in_own_jobs([2.9, 3.4, 2.6, 2.7, 2.6, 2.7, 4.5, 3.6], more_pairs=3)
    assert made.to_the_end().result.note == "the second session did not confirm it"
    assert finals(made) == 8


@pytest.mark.parametrize(("failing", "compared"), [(0, True), (1, False)])
def test_the_runner_up_gets_the_pairs_that_a_failing_winner_leaves(failing: int, compared: bool) -> None:
    """If the winner fails in the first of three pairs, two pairs are left; if in the second, one, which is too few."""
    made = in_own_jobs([2.5] * 8)
    values = made.value

    def value(point: Parametrization) -> float | None:
        fails = roles(made)[-1] == "final-tuned" and finals(made) == failing + 1
        return None if fails else values(point)

    made.value = value
    result = made.to_the_end().result
    assert (result.comparison is not None) == compared
    assert result.note == ("" if compared else "the best parametrization failed when it was run again")
