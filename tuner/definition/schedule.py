# SPDX-License-Identifier: Apache-2.0
"""Times at which a campaign may start trials: within its hours, and one at a time while other jobs wait for nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, time, timedelta

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]|24):([0-5]\d)")

ASK_QUEUE_S = 30.0  # seconds between checks of the queue
FIRST_PAUSE_S = 30.0  # first pause in seconds after a trial while other jobs wait; each further pause is twice as long


@dataclass(frozen=True)
class Hours:
    """Window of time that begins on some days of the week, by the local clock, and may end on the next day."""

    begin: time
    end: time
    days: Collection[str] = DAYS

    @classmethod
    def parse(cls, text: str, days: Collection[str] = DAYS) -> Hours:
        """Read a text like 20:00-06:00; two equal times mean a whole day. Raise ValueError for any other text."""
        if not (match := HOURS.fullmatch(text)) or (match[3] == "24" and match[4] != "00"):
            raise ValueError(f"{text!r} is not a window of hours: write it like 20:00-06:00")
        hours = [int(match[1]), int(match[3]) % 24]
        return cls(time(hours[0], int(match[2])), time(hours[1], int(match[4])), tuple(days))

    def open(self, now: datetime) -> bool:
        """Return whether `now`, the local time of the campaign's host, lies in the window."""
        clock, today, yesterday = now.time(), DAYS[now.weekday()], DAYS[now.weekday() - 1]
        if self.begin < self.end:
            return today in self.days and self.begin <= clock < self.end
        return (today in self.days and clock >= self.begin) or (yesterday in self.days and clock < self.end)

    def opens(self, now: datetime) -> datetime:
        """Return the time at which the window next opens, or `now` if it is open."""
        if self.open(now):
            return now
        first = now.replace(hour=self.begin.hour, minute=self.begin.minute, second=0, microsecond=0)
        coming = (first + timedelta(days=number) for number in range(9))
        return next(when for when in coming if when > now and DAYS[when.weekday()] in self.days)


class BackOff:
    """Rule that leaves nodes to other users: while their jobs wait, trials run one at a time, with growing pauses.

    Each pause is twice as long as the previous one, up to `most_s` seconds. `others_wait` checks the queue. `monotonic`
    is a clock that is never adjusted.
    """

    def __init__(self, others_wait: Callable[[], bool], most_s: float, monotonic: Callable[[], float]) -> None:
        self._others_wait = others_wait
        self._most_s = most_s
        self._monotonic = monotonic
        self._asked_at: float | None = None
        self._busy = False
        self._pause_s = FIRST_PAUSE_S
        self._free_at = 0.0

    def may_start(self, under_way: int) -> bool:
        """Return whether a trial may start in addition to `under_way` running trials; if so, count it as started."""
        now = self._monotonic()
        if self._most_s == 0:
            return True
        if self._asked_at is None or now >= self._asked_at + ASK_QUEUE_S:
            self._busy, self._asked_at = self._others_wait(), now
        if not self._busy:
            self._pause_s, self._free_at = FIRST_PAUSE_S, now
            return True
        if under_way or now < self._free_at:
            self._free_at = max(self._free_at, now + self._pause_s) if under_way else self._free_at
            return False
        self._pause_s = min(2 * self._pause_s, self._most_s)
        self._free_at = now + self._pause_s
        return True
