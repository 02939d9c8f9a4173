# SPDX-License-Identifier: Apache-2.0
"""Test the estimate of the time that a campaign still takes at most, based on its trials and their pace."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.database.entities import Trial, TrialRole, TrialState
from reprise.tuner.campaign.work_ahead import WorkAhead
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.model.component import Problem
from reprise.tuner.model.space import Parameter, Space
from reprise.tuner.report.progress import time_left

SPACE = Space((Parameter("x", tuple(range(50))),))


def definition(**repetitions: Any) -> Definition:
    given = {"default_runs": 2, "final_pairs": 3, **repetitions}
    base = {"name": "n", "component": "c", "scope": "cluster", "search": {"budget": 12, "initial": 3}}
    return Definition.model_validate({**base, "repetitions": given})


def problem(key: str, together: str = "") -> Problem:
    return Problem(key, SPACE, {"x": 0}, round=together)


def rows(count: int, *keys: str, state: TrialState = TrialState.COMPLETE) -> list[Trial]:
    return [Trial(1, key, number, TrialRole.SEARCH, {"x": 0}, state) for key in keys for number in range(count)]


def test_the_time_left_is_that_of_all_problems_at_the_pace_so_far() -> None:
    ahead = WorkAhead(definition(), [problem("a"), problem("b")], [], 100.0)
    assert ahead.seconds([], 150.0) is None
    # Problem a has 15 trials left, and problem b has 20. Each trial takes 10 s.
    assert ahead.seconds(rows(5, "a"), 150.0) == pytest.approx((15 + 20) * 10)


def test_problems_that_one_run_evaluates_take_the_time_of_one() -> None:
    ahead = WorkAhead(definition(), [problem("a", "r"), problem("b", "r")], [], 100.0)
    assert ahead.seconds(rows(5, "a", "b"), 150.0) == pytest.approx(15 * 10)


def test_the_pace_of_a_resumed_campaign_is_measured_from_its_resumption() -> None:
    ahead = WorkAhead(definition(), [problem("a")], rows(10, "a"), 100.0)
    assert ahead.seconds(rows(12, "a"), 110.0) == pytest.approx(8 * 5)


def test_a_problem_solved_early_leaves_only_the_time_of_its_second_session() -> None:
    ahead = WorkAhead(definition(confirm_pairs=2), [problem("a"), problem("b")], [], 0.0)
    ahead.over("a", rows(8, "a"), 0)
    assert ahead.seconds(rows(8, "a"), 80.0) == pytest.approx(24 * 10)
    ahead.over("b", rows(10, "b"), 4)
    assert ahead.seconds(rows(8, "a") + rows(10, "b"), 180.0) == pytest.approx(4 * 10)


def test_interrupted_trials_do_not_count() -> None:
    ahead = WorkAhead(definition(), [problem("a")], [], 0.0)
    assert ahead.seconds(rows(3, "a", state=TrialState.PREEMPTED), 60.0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.4, ", at most 0 s left"),
        (119, ", at most 119 s left"),
        (120, ", at most 2 min left"),
        (7199, ", at most 120 min left"),
        (3 * 3600, ", at most 3 h left"),
        (3 * 86400, ", at most 3 days left"),
    ],
)
def test_the_time_left_is_a_short_text(seconds: float | None, words: str) -> None:
    assert time_left(seconds) == words
