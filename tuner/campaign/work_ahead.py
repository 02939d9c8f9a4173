# SPDX-License-Identifier: Apache-2.0
"""Estimate a campaign's remaining work: its rounds, maximum number of trials, and remaining time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reprise.database.entities import Trial
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.model.component import Problem
from reprise.tuner.model.trial_rows import INTERRUPTED, OPEN
from reprise.tuner.search import grid_points


class WorkAhead:
    """Estimate of the remaining time of a campaign.

    `rows` are the campaign's trials so far, including those of an earlier coordinator. The pace counts only the runs
    that have ended since `began`, a time in seconds.
    """

    def __init__(
        self, definition: Definition, problems: Sequence[Problem], rows: Sequence[Trial], began: float
    ) -> None:
        self._rounds = [[problem.key for problem in together] for together in rounds(problems)]
        self._expected = {problem.key: most_trials(definition, problem) for problem in problems}
        self._before = self._runs(ended(rows))
        self._began = began

    def over(self, key: str, rows: Sequence[Trial], more: int) -> None:
        """Set the number of a problem's remaining trials to `more`, which is the number in its second session, or 0."""
        self._expected[key] = ended(rows).get(key, 0) + more

    def seconds(self, rows: Sequence[Trial], now: float) -> float | None:
        """Return the maximum remaining time in seconds at the current pace; None until a trial has ended."""
        done = ended(rows)
        runs = self._runs(done) - self._before
        if not runs:
            return None
        left = sum(max(max(0, self._expected[key] - done.get(key, 0)) for key in together) for together in self._rounds)
        return left * (now - self._began) / runs

    def _runs(self, done: Mapping[str, int]) -> int:
        """Return the number of runs, given each problem's number of trials; a run evaluates all problems of a round."""
        return sum(max(done.get(key, 0) for key in together) for together in self._rounds)


def ended(rows: Sequence[Trial]) -> dict[str, int]:
    """Return the number of each problem's trials that ended without being interrupted."""
    found: dict[str, int] = {}
    for row in rows:
        if row.state not in OPEN | INTERRUPTED:
            found[row.problem] = found.get(row.problem, 0) + 1
    return found


def rounds(problems: Sequence[Problem]) -> list[Sequence[Problem]]:
    """Group the problems by round, in order; a problem without a round forms its own group."""
    found: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        found.setdefault((problem.round, "" if problem.round else problem.key), []).append(problem)
    return list(found.values())


def most_trials(definition: Definition, problem: Problem) -> int:
    """Return a problem's maximum number of trials, not counting repetitions of interrupted trials."""
    repetitions, searched = definition.repetitions, definition.search.budget
    if definition.noise.policy == "none" and grid_points.is_listed(problem.space):
        searched = min(searched, len(problem.space.points))
    pairs = repetitions.final_pairs + repetitions.more_pairs + repetitions.confirm_pairs
    return repetitions.default_runs + searched + 2 * pairs
