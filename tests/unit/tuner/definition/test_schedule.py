# SPDX-License-Identifier: Apache-2.0
"""Test the times at which a campaign may start trials."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from reprise.tuner.definition.schedule import BackOff, Hours

MONDAY = datetime(2026, 3, 2)


def at(day: int, clock: str) -> datetime:
    """Return the date and time at `clock` on a day of the week; Monday is day 0."""
    hours, minutes = map(int, clock.split(":"))
    return MONDAY + timedelta(days=day, hours=hours, minutes=minutes)


@pytest.mark.parametrize(
    ("day", "clock", "expected"),
    [(0, "19:59", False), (0, "20:00", True), (1, "05:59", True), (1, "06:00", False), (1, "12:00", False)],
)
def test_hours_may_continue_past_midnight(day: int, clock: str, expected: bool) -> None:
    assert Hours.parse("20:00-06:00").open(at(day, clock)) is expected


@pytest.mark.parametrize(
    ("day", "clock", "expected"),
    [(4, "03:00", False), (4, "20:00", True), (5, "03:00", True), (5, "21:00", True), (6, "05:00", True),
     (6, "20:00", False), (0, "03:00", False)],
)  # fmt: skip
def test_a_night_belongs_to_the_day_on_which_it_begins(day: int, clock: str, expected: bool) -> None:
    assert Hours.parse("20:00-06:00", ["fri", "sat"]).open(at(day, clock)) is expected


def test_days_without_hours_are_open_all_day() -> None:
    weekend = Hours.parse("00:00-24:00", ["sat", "sun"])
    assert [weekend.open(at(day, "00:00")) for day in range(7)] == [False] * 5 + [True] * 2
    assert weekend.open(at(6, "23:59")) and not weekend.open(at(7, "00:00"))


@pytest.mark.parametrize(
    ("now", "expected"),
    [((0, "12:00"), (4, "20:00")), ((4, "19:00"), (4, "20:00")), ((4, "21:00"), (4, "21:00")),
     ((5, "07:00"), (11, "20:00"))],
)  # fmt: skip
def test_the_next_beginning_of_the_hours_is_computed(now: tuple[int, str], expected: tuple[int, str]) -> None:
    assert Hours.parse("20:00-06:00", ["fri"]).opens(at(*now)) == at(*expected)


@pytest.mark.parametrize("text", ["20-06", "24:00-06:00", "20:00-24:30", "8:00-9:00", "20:00--06:00", ""])
def test_texts_in_another_format_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a window of hours: write it like 20:00-06:00"):
        Hours.parse(text)


class Queue:
    def __init__(self, most_s: float = 600.0) -> None:
        self.now, self.busy, self.looks = 0.0, False, 0
        self.back_off = BackOff(self._look, most_s, lambda: self.now)

    def _look(self) -> bool:
        self.looks += 1
        return self.busy

    def may(self, now: float, under_way: int = 0) -> bool:
        self.now = now
        return self.back_off.may_start(under_way)


def test_an_empty_queue_delays_nothing_and_is_checked_from_time_to_time() -> None:
    queue = Queue()
    assert all(queue.may(now, under_way) for now in range(29) for under_way in (0, 5)) and queue.looks == 1
    assert queue.may(30.0) and queue.looks == 2


def test_while_jobs_of_others_wait_one_trial_runs_at_a_time_after_growing_pauses() -> None:
    queue = Queue(most_s=200.0)
    queue.busy = True
    starts = [now for now in range(2000) if queue.may(float(now))]
    pauses = [after - before for before, after in pairwise(starts)]
    assert pauses[:3] == [60, 120, 200] and set(pauses[2:]) == {200}
    assert not queue.may(5000.0, under_way=1)


def test_when_jobs_of_others_no_longer_wait_all_trials_continue_at_once() -> None:
    queue = Queue()
    queue.busy = True
    assert queue.may(0.0) and not queue.may(10.0)
    queue.busy = False
    assert not queue.may(20.0) and queue.may(31.0) and queue.may(31.0, under_way=3)


def test_without_back_off_the_queue_is_never_checked() -> None:
    queue = Queue(most_s=0.0)
    queue.busy = True
    assert queue.may(0.0, under_way=7) and queue.looks == 0
