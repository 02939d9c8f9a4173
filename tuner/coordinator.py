# SPDX-License-Identifier: Apache-2.0
"""The campaign's loop: starts what `tuner.steps` says next wherever there is room, and takes in what ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from database.model import Trial, TrialState
from tuner.campaign import Definition
from tuner.component import Problem
from tuner.errors import CampaignFailedError, TunerError
from tuner.journal import Journal
from tuner.progress import Report, percent
from tuner.rows import INTERRUPTED, OPEN, best_gain, node_seconds
from tuner.schedule import BackOff
from tuner.step import Done, Failed, ProblemResult, Start
from tuner.steps import Solver
from tuner.trials import ATTEMPTS, PREEMPTIONS, WITHDRAWN, Trials

POLL_S = 1.0
REST_S = 10.0  # between looks at the clock outside the campaign's hours


class Coordinator:
    """Works through problems in order. `now` tells the time of day; `sleep` is told seconds."""

    def __init__(
        self,
        definition: Definition,
        problems: Sequence[Problem],
        trials: Trials,
        journal: Journal,
        report: Report,
        back_off: BackOff | None = None,
        now: Callable[[], datetime] = datetime.now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._definition = definition
        self._problems = problems
        self._trials = trials
        self._journal = journal
        self._report = report
        self._back_off = back_off
        self._now = now
        self._sleep = sleep
        self._interrupted: Counter[TrialState] = Counter()  # trials in a row
        self._closed = False

    def run(self) -> Sequence[ProblemResult]:
        """All problems. Raises CampaignFailedError where nothing can come of the campaign."""
        self._journal.check(self._problems)
        self._trials.resume()
        results = []
        for index, problem in enumerate(self._problems):
            self._report.problem(problem.key, index, len(self._problems), most_trials(self._definition, problem))
            result = self._solve(problem, self._allowance(index))
            self._report.solved(problem.key, in_words(result))
            results.append(result)
        self.wait_for_hours()
        return results

    def wait_for_hours(self) -> None:
        """Return within the campaign's hours; meanwhile the nodes are given back."""
        while not self._open():
            self._trials.rest()
            self._sleep(REST_S)

    def _solve(self, problem: Problem, allowance: float | None) -> ProblemResult:
        solver = Solver(self._definition, problem)
        while True:
            if self._room():
                if self._trials.lost:
                    self._trials.start_again()
                    continue
                step = solver.next_step(self._journal.rows(problem.key), allowance)
                if isinstance(step, Start):
                    self._trials.start(problem.key, step)
                    continue
                if isinstance(step, Done):
                    return step.result
                if isinstance(step, Failed):
                    raise self._failure(problem, step)
            self._wait(problem)

    def _allowance(self, index: int) -> float | None:
        """Node-seconds for a problem in all: an equal share of what the problems before it left."""
        hours = self._definition.budget.node_hours
        if hours is None:
            return None
        before = [row for problem in self._problems[:index] for row in self._journal.rows(problem.key)]
        return max(0.0, 3600 * hours - node_seconds(before)) / (len(self._problems) - index)

    def _room(self) -> bool:
        """Whether another trial may be started now, if there is one."""
        section, under_way = self._definition.executor, self._trials.under_way
        if under_way >= section.parallel or self._trials.waiting >= (section.queue or section.parallel):
            return False
        return self._open() and (self._back_off is None or self._back_off.may_start(under_way))

    def _open(self) -> bool:
        hours, now = self._definition.executor.window(), self._now()
        closed = hours is not None and not hours.open(now)
        if closed and not self._closed and hours:
            self._report.say(f"outside the campaign's hours: nothing starts before {hours.opens(now):%a %F %R}")
        self._closed = closed
        return not closed

    def _wait(self, problem: Problem) -> None:
        """Wait until a trial has ended, or for a while where there may be room without that."""
        if not self._open():
            self._trials.rest()
        if self._trials.under_way == 0:
            self._sleep(REST_S if self._closed else POLL_S)
        for trial in self._trials.poll(POLL_S):
            self._tell(problem, trial)

    def _tell(self, problem: Problem, trial: Trial) -> None:
        rows = self._journal.rows(problem.key)
        if trial.state not in INTERRUPTED:
            self._interrupted.clear()
            done = sum(row.state not in OPEN | INTERRUPTED for row in rows)
            self._report.trial(trial, done, best_gain(rows))
            return
        self._interrupted[trial.state] += trial.message != WITHDRAWN
        times, most = self._interrupted[trial.state], PREEMPTIONS if trial.state is TrialState.PREEMPTED else ATTEMPTS
        if times >= most * self._definition.executor.parallel:
            raise TunerError(
                f"{trial.problem}: a trial was interrupted {times} times in a row, at last so: "
                f"{trial.message}: see what ends its jobs (preemption, a time limit, a node), then resume the campaign"
            )

    def _failure(self, problem: Problem, step: Failed) -> CampaignFailedError:
        trial = step.trial
        return CampaignFailedError(
            f"{problem.key}: {step.what} ({trial.state}: {trial.message}): see {self._trials.directory(trial)}, "
            "correct the cause and start a new campaign"
        )


def most_trials(definition: Definition, problem: Problem) -> int:
    """Trials that a problem takes at most, repetitions of interrupted ones aside."""
    repetitions, searched = definition.repetitions, definition.search.budget
    if definition.noise.policy == "none":
        searched = min(searched, len(problem.space.points))
    return repetitions.default_runs + searched + 2 * repetitions.final_pairs


def in_words(result: ProblemResult) -> str:
    """A problem's result in one line."""
    found = result.comparison
    if not found:
        return f"{result.note} ({result.trials} trials; {result.stopped})"
    bounds = f"{percent(found.gain_low)} to {percent(found.gain_high)}"
    return f"gain {percent(found.gain)} ({bounds}) after {result.trials} trials; {result.stopped}"
