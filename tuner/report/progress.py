# SPDX-License-Identifier: Apache-2.0
"""Show the progress of a campaign as bars on a terminal, otherwise as occasional lines."""

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
    """Interface of objects that show the progress of a campaign."""

    def running(self) -> AbstractContextManager[object]:
        """Return a context manager that must be active while progress is reported."""

    def say(self, text: str) -> None:
        """Show a line of text."""

    def problem(self, key: str, index: int, count: int, expected: int) -> None:
        """Show the start of a problem with at most `expected` trials; `index` is its number from 0, out of `count`."""

    def trial(self, trial: Trial, done: int, gain: float | None, left_s: float | None = None) -> None:
        """Show the end of a trial; `done` trials of the problem have ended so far.

        `gain` is the gain of the best point so far over the default's mean. `left_s` is the maximum remaining time of
        the whole campaign in seconds at its current pace.
        """

    def solved(self, key: str, text: str) -> None:
        """Show the end of a problem, with its result as one line of text."""


def time_left(seconds: float | None) -> str:
    """Return a remaining time as text, such as `, at most 12 min left`; empty if the time is unknown."""
    if seconds is None:
        return ""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f", at most {seconds / size:.0f} {unit} left"
    return f", at most {seconds:.0f} s left"


def percent(gain: float) -> str:
    """Return a gain as text in percent, with its sign and one decimal."""
    return f"{100 * gain:+.1f} %"


class LineReport:
    """Shows progress as lines of text, with at most one line about trials every `LINE_EVERY_S` seconds."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._said_at = clock()
        self._expected = 0

    def running(self) -> AbstractContextManager[object]:
        """Return a context manager that does nothing, since lines need no setup."""
        return nullcontext()

    def say(self, text: str) -> None:
        """Print a line."""
        self._said_at = self._clock()
        print(text, file=self._stream, flush=True)

    def problem(self, key: str, index: int, count: int, expected: int) -> None:
        """Print a problem's name, its number and its maximum number of trials."""
        self._expected = expected
        self.say(f"{key} ({index + 1} of {count}): at most {expected} trials")

    def trial(self, trial: Trial, done: int, gain: float | None, left_s: float | None = None) -> None:
        """Print a line about the problem's trials unless the last line is less than `LINE_EVERY_S` seconds old."""
        if self._clock() - self._said_at >= LINE_EVERY_S:
            self.say(f"{trial.problem}: {done} trials{_best(gain)}{time_left(left_s)}{_trouble(trial)}")

    def solved(self, key: str, text: str) -> None:
        """Print a problem's result."""
        self.say(f"{key}: {text}")


class BarReport:
    """Shows progress as two bars on a terminal: the campaign's problems, and the trials of the current problem."""

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
        """Return a context manager that shows the bars while it is active."""
        return self._progress

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(text, markup=False, highlight=False)

    def problem(self, key: str, index: int, count: int, expected: int) -> None:
        """Update both bars for the start of a problem."""
        self._progress.update(self._all, total=count, completed=index)
        self._progress.reset(self._one, total=expected, description=key, visible=True, note="")

    def trial(self, trial: Trial, done: int, gain: float | None, left_s: float | None = None) -> None:
        """Advance the current problem's bar."""
        self._progress.update(self._all, note=time_left(left_s).removeprefix(", "))
        self._progress.update(self._one, completed=done, note=f"{trial.role}{_best(gain)}{_trouble(trial)}")

    def solved(self, key: str, text: str) -> None:
        """Print a problem's result and advance the campaign's bar."""
        self.say(f"{key}: {text}")
        self._progress.advance(self._all)
        self._progress.update(self._one, visible=False)


def for_terminal() -> Report:
    """Return a `BarReport` if standard error is a terminal, otherwise a `LineReport`."""
    return BarReport() if sys.stderr.isatty() else LineReport()


def _best(gain: float | None) -> str:
    return "" if gain is None else f", best so far {percent(gain)}"


def _trouble(trial: Trial) -> str:
    return "" if trial.state is TrialState.COMPLETE else f" (last: {trial.state}, {trial.message[:80]})"
