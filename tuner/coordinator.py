# SPDX-License-Identifier: Apache-2.0
"""The campaign's loop: for each problem the default, the search, and the winner against the default.

Deterministic apart from what trials measure: with the journal's answers it takes the same way again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from database.model import Measurement, Trial, TrialRole
from tuner import search
from tuner.campaign import Definition
from tuner.component import Comparison, Problem
from tuner.errors import CampaignFailedError
from tuner.progress import Report, percent
from tuner.space import Parametrization
from tuner.statistics import measurement, paired_gain
from tuner.trials import Trials

FAILURES_IN_A_ROW = 10


@dataclass(frozen=True)
class ProblemResult:
    """What came of a problem: the default before the search, why the search stopped, and the final comparison.

    `note` says why there is no comparison. `trials` counts all that were run, `failed` those without a value.
    """

    problem: str
    default: Measurement
    stopped: str
    trials: int
    failed: int
    comparison: Comparison | None = None
    note: str = ""


@dataclass
class _Progress:
    """The trials of one problem so far."""

    default: float | None = None
    values: list[float | None] = field(default_factory=list)
    searched: list[float | None] = field(default_factory=list)

    def gain(self) -> float | None:
        known = [value for value in self.searched if value is not None]
        return 1 - min(known) / self.default if known and self.default else None


class Coordinator:
    """Works through problems in order."""

    def __init__(self, definition: Definition, problems: Sequence[Problem], trials: Trials, report: Report) -> None:
        self._definition = definition
        self._problems = problems
        self._trials = trials
        self._report = report

    def run(self) -> Sequence[ProblemResult]:
        """All problems. Raises CampaignFailedError where nothing can come of the campaign."""
        results = []
        for index, problem in enumerate(self._problems):
            self._report.problem(problem.key, index, len(self._problems), self._expected(problem))
            result = self._solve(problem)
            self._report.solved(problem.key, in_words(result))
            results.append(result)
        return results

    def _expected(self, problem: Problem) -> int:
        """Trials that a problem takes at most, repetitions of interrupted ones aside."""
        repetitions = self._definition.repetitions
        searched = min(self._definition.search.budget, len(problem.space.points))
        return repetitions.default_runs + searched + 2 * repetitions.final_pairs

    def _solve(self, problem: Problem) -> ProblemResult:
        progress = _Progress()
        default = self._measure_default(problem, progress)
        winner, stopped = self._search(problem, default, progress)
        if winner is None:
            note, comparison = "no parametrization beat the default", None
        else:
            comparison, note = self._compare(problem, winner, default.unit, progress)
        failed = sum(value is None for value in progress.values)
        return ProblemResult(problem.key, default, stopped, len(progress.values), failed, comparison, note)

    def _measure_default(self, problem: Problem, progress: _Progress) -> Measurement:
        values, unit = [], "s"
        for _ in range(self._definition.repetitions.default_runs):
            trial = self._evaluate(problem, TrialRole.DEFAULT, problem.default, progress)
            if trial.value is not None:
                values.append(trial.value)
                unit = trial.unit
            elif not values:
                raise CampaignFailedError(
                    f"{problem.key}: the default itself did not run ({trial.state}: {trial.message}): "
                    f"see {self._trials.directory(trial)}, correct the cause and start a new campaign"
                )
        result = measurement(values, unit)
        progress.default = result.mean
        return result

    def _search(
        self, problem: Problem, default: Measurement, progress: _Progress
    ) -> tuple[Parametrization | None, str]:
        """The best point, None where it does not beat the default, and why the search stopped.

        The default's mean is told first, so that the model knows it; it is no trial of the search.
        """
        section = self._definition.search
        rule = section.stop_rule()
        method = search.build(section.method, problem.space, self._seed(problem), section.initial)
        method.tell(problem.default, default.mean)
        best, winner, stopped = default.mean, None, ""
        while not (stopped := rule.reached(progress.searched)):
            point = method.ask()
            if point is None:
                stopped = "every point was tried"
                break
            trial = self._evaluate(problem, TrialRole.SEARCH, point, progress)
            method.tell(point, trial.value)
            if trial.value is not None and trial.value < best:
                best, winner = trial.value, point
        return winner, stopped

    def _compare(
        self, problem: Problem, winner: Parametrization, unit: str, progress: _Progress
    ) -> tuple[Comparison | None, str]:
        """Default and winner in turn, in random order within each pair; without a comparison, why there is none.

        A winner that fails where the default runs is none: jobs would fail with it.
        """
        rng = np.random.default_rng([self._seed(problem), 1])
        defaults, tuned = [], []
        for _ in range(self._definition.repetitions.final_pairs):
            roles = [(TrialRole.FINAL_DEFAULT, problem.default), (TrialRole.FINAL_TUNED, winner)]
            if rng.random() < 0.5:
                roles.reverse()
            values = {role: self._evaluate(problem, role, point, progress).value for role, point in roles}
            first, second = values[TrialRole.FINAL_DEFAULT], values[TrialRole.FINAL_TUNED]
            if first is not None and second is None:
                return None, "the best parametrization failed when it was run again"
            if first is not None and second is not None:
                defaults.append(first)
                tuned.append(second)
        if len(defaults) < 2:
            return None, "too few of the final runs succeeded"
        measured = measurement(defaults, unit), measurement(tuned, unit)
        return Comparison(problem.key, winner, *measured, *paired_gain(defaults, tuned)), ""

    def _evaluate(self, problem: Problem, role: TrialRole, point: Parametrization, progress: _Progress) -> Trial:
        """Run a trial; after too many failures in a row also the default, to tell bad points from a bad machine."""
        trial = self._run(problem, role, point, progress)
        recent = progress.values[-FAILURES_IN_A_ROW:]
        if len(recent) == FAILURES_IN_A_ROW and all(value is None for value in recent):
            default = self._run(problem, TrialRole.DEFAULT, problem.default, progress)
            if default.value is None:
                raise CampaignFailedError(
                    f"{problem.key}: {FAILURES_IN_A_ROW} trials in a row failed, and then the default: "
                    f"{default.message} (see {self._trials.directory(default)}): correct the cause and start a new "
                    "campaign"
                )
        return trial

    def _run(self, problem: Problem, role: TrialRole, point: Parametrization, progress: _Progress) -> Trial:
        trial = self._trials.evaluate(problem.key, role, point)
        progress.values.append(trial.value)
        if role is TrialRole.SEARCH:
            progress.searched.append(trial.value)
        self._report.trial(trial, len(progress.values), progress.gain())
        return trial

    def _seed(self, problem: Problem) -> int:
        """A problem's own seed: the same whatever problems come before it."""
        text = f"{self._definition.search.seed}/{problem.key}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def in_words(result: ProblemResult) -> str:
    """A problem's result in one line."""
    found = result.comparison
    if not found:
        return f"{result.note} ({result.trials} trials; {result.stopped})"
    bounds = f"{percent(found.gain_low)} to {percent(found.gain_high)}"
    return f"gain {percent(found.gain)} ({bounds}) after {result.trials} trials; {result.stopped}"
