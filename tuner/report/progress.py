# SPDX-License-Identifier: Apache-2.0
"""How a campaign tells a person where it is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from reprise.database.entities import Trial, TrialState

LINE_EVERY_S = 5.0


class Report(Protocol):
    """Told what happens in a campaign."""

    def running(self) -> AbstractContextManager[object]:
        """The time during which it reports."""

    def say(self, text: str) -> None:
        """Something worth a line."""

    def problem(self, key: str, index: int, count: int, expected: int) -> None:
        """A problem begins: the `index`-th of `count` from 0, of `expected` trials at most."""

    def trial(self, trial: Trial, done: int, gain: float | None, left_s: float | None = None) -> None:
        """A trial ended, the problem's `done`-th; `gain` is that of the best so far over the default's mean, `left_s`
        how long the whole campaign goes on at most, at its pace so far."""

    def solved(self, key: str, text: str) -> None:
        """A problem is done, with its result in one line."""


def time_left(seconds: float | None) -> str:
    """`, at most 12 min left`; empty where that is not known."""
    if seconds is None:
        return ""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f", at most {seconds / size:.0f} {unit} left"
    return f", at most {seconds:.0f} s left"


def percent(gain: float) -> str:
    return f"{100 * gain:+.1f} %"


class LineReport:
    """Plain lines, at most one in `LINE_EVERY_S` seconds for trials."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._said_at = clock()
        self._expected = 0

    def running(self) -> AbstractContextManager[object]:
        return nullcontext()

    def say(self, text: str) -> None:
        self._said_at = self._clock()
        print(text, file=self._stream, flush=True)

    def problem(self, key: str, index: int, count: int, expected: int) -> None:
        self._expected = expected
        self.say(f"{key} ({index + 1} of {count}): at most {expected} trials")

    def trial(self, trial: Trial, done: int, gain: float | None, left_s: float | None = None) -> None:
        if self._clock() - self._said_at >= LINE_EVERY_S:
            self.say(f"{trial.problem}: {done} trials{_best(gain)}{time_left(left_s)}{_trouble(trial)}")

    def solved(self, key: str, text: str) -> None:
        self.say(f"{key}: {text}")


class BarReport:
    """Two bars on a terminal: the campaign's problems, and the trials of the current one."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
        )
        self._all = self._progress.add_task("problems", total=None, note="")
        self._one = self._progress.add_task("", total=None, note="", visible=False)

    def running(self) -> AbstractContextManager[object]:
        return self._progress

    def say(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)

    def problem(self, key: str, index: int, count: int, expected: int) -> None:
        self._progress.update(self._all, total=count, completed=index)
        self._progress.reset(self._one, total=expected, description=key, visible=True, note="")

    def trial(self, trial: Trial, done: int, gain: float | None, left_s: float | None = None) -> None:
        self._progress.update(self._all, note=time_left(left_s).removeprefix(", "))
        self._progress.update(self._one, completed=done, note=f"{trial.role}{_best(gain)}{_trouble(trial)}")

    def solved(self, key: str, text: str) -> None:
        self.say(f"{key}: {text}")
        self._progress.advance(self._all)
        self._progress.update(self._one, visible=False)


def for_terminal() -> Report:
    return BarReport() if sys.stderr.isatty() else LineReport()


def _best(gain: float | None) -> str:
    return "" if gain is None else f", best so far {percent(gain)}"


def _trouble(trial: Trial) -> str:
    return "" if trial.state is TrialState.COMPLETE else f" (last: {trial.state}, {trial.message[:80]})"
