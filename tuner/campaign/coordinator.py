# SPDX-License-Identifier: Apache-2.0
"""Main loop of a campaign, which starts the trials that `next_step` requests and collects the results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from reprise.database.entities import Trial, TrialState
from reprise.tuner.campaign.trial_journal import Journal
from reprise.tuner.campaign.trials import ATTEMPTS, NOT_REACHED, PREEMPTIONS, WITHDRAWN, Trials
from reprise.tuner.campaign.work_ahead import WorkAhead, most_trials, rounds
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.definition.schedule import BackOff
from reprise.tuner.errors import CampaignFailedError, TunerError
from reprise.tuner.executors import launch_failures
from reprise.tuner.model.component import Problem
from reprise.tuner.model.trial_rows import INTERRUPTED, OPEN, best_gain, node_seconds
from reprise.tuner.report.progress import Report, percent
from reprise.tuner.steps.costs import in_node_hours
from reprise.tuner.steps.next_step import Solver
from reprise.tuner.steps.problem_family import Kin
from reprise.tuner.steps.step import Done, Failed, Later, ProblemResult, Scarce, Start, Step

POLL_S = 1.0
LATER = "better beyond noise, to be confirmed in a second session"
REST_S = 10.0  # seconds between checks of the clock outside the hours for trials, or before the second session


class Coordinator:
    """Solves a campaign's problems in order.

    `now` returns the local time. The argument of `sleep` is in seconds.
    """

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
        self._interrupted: Counter[TrialState] = Counter()  # number of consecutive interrupted trials, by state
        self._closed = False
        self._ahead = WorkAhead(definition, problems, journal.rows(), journal.now())

    def run(self) -> Sequence[ProblemResult]:
        """Solve all problems and return their results. Raise CampaignFailedError if the campaign cannot succeed."""
        self._journal.check(self._problems)
        self._trials.resume()
        results: dict[str, ProblemResult | Later] = {}
        for together in rounds(self._problems):
            if len(together) > 1:
                self._report.say(f"{len(together)} problems are evaluated together: each run tries a point of each")
            results |= self._solve(together, self._allowance(len(results)), len(results))
        later = [problem for problem in self._problems if isinstance(results[problem.key], Later)]
        if later:
            self._rest_between(any(isinstance(one, Later) and one.begun for one in results.values()))
        done = len(self._problems) - len(later)
        for together in rounds(later):
            results |= self._solve(together, self._allowance_of_second(together, len(self._problems) - done), done, 2)
            done += len(together)
        self.wait_for_hours()
        return [found for problem in self._problems if isinstance(found := results[problem.key], ProblemResult)]

    def _rest_between(self, begun: bool) -> None:
        """Release the nodes and wait until the second session may start; return at once if the session has `begun`."""
        if begun:
            return
        after_s = self._definition.repetitions.confirm_after_s
        until = max((row.ended_at or 0.0) for row in self._journal.rows()) + after_s
        left = until - self._journal.now()
        self._report.say(f"a second session in {max(left, 0) / 60:.0f} minutes compares the winners once more")
        self._trials.rest()
        while left > 0:
            self._sleep(min(left, REST_S))
            self._trials.rest()
            left = until - self._journal.now()

    def wait_for_hours(self) -> None:
        """Release the nodes, and wait until the hours begin in which trials of the campaign may start."""
        while not self._open():
            self._trials.rest()
            self._sleep(REST_S)

    def _solve(
        self, together: Sequence[Problem], allowance: float | None, before: int, session: int = 1
    ) -> dict[str, ProblemResult | Later]:
        """Solve one problem, or the problems of one round; `before` is the number of problems already solved."""
        solvers = {problem.key: Solver(self._definition, problem) for problem in together}
        results: dict[str, ProblemResult | Later] = {}
        self._show(together, results, before)
        while len(results) < len(together):
            if self._room():
                if self._trials.lost:
                    self._trials.start_again()
                    continue
                steps = {
                    problem.key: solvers[problem.key].next_step(
                        self._journal.rows(problem.key), allowance, self._kin(problem), session
                    )
                    for problem in together
                    if problem.key not in results
                }
                self._check(steps)
                steps = {key: self._if_scarce(key, step, before) for key, step in steps.items()}
                for key, step in steps.items():
                    if isinstance(step, Done | Later):
                        results[key] = step.result if isinstance(step, Done) else step
                        self._report.solved(key, in_words(step.result) if isinstance(step, Done) else LATER)
                        repetitions = self._definition.repetitions
                        pairs = repetitions.confirm_pairs + repetitions.more_pairs
                        more = 0 if isinstance(step, Done) else 2 * pairs
                        self._ahead.over(key, self._journal.rows(key), more)
                        self._show(together, results, before)
                if starts := [(key, step) for key, step in steps.items() if isinstance(step, Start)]:
                    self._trials.start(starts)
                    continue
            if len(results) < len(together):
                self._wait()
        return results

    def _check(self, steps: Mapping[str, Step]) -> None:
        """Raise CampaignFailedError if one of these steps means that its problem cannot be solved."""
        for key, step in steps.items():
            if isinstance(step, Failed):
                raise self._failure(key, step)

    def _if_scarce(self, key: str, step: Step, before: int) -> Step:
        """Return a step that skips the problem if the budget is too small to search it; otherwise the given step.

        Raise CampaignFailedError if the budget is too small for the first problem.
        """
        if not isinstance(step, Scarce):
            return step
        if before:
            return Done(step.otherwise)
        raise CampaignFailedError(
            f"{key}: {self._definition.budget.node_hours:g} node-hours pay for {step.room} of the {step.wanted} trials "
            "that its search needs, judged by the default's run time: start a new campaign with at least "
            f"{in_node_hours(len(self._problems) * step.least)} node-hours, or with fewer problems"
        )

    def _show(self, together: Sequence[Problem], results: Mapping[str, ProblemResult | Later], before: int) -> None:
        """Report the first problem that is not yet solved in a round."""
        open_ones = [problem for problem in together if problem.key not in results]
        if open_ones:
            first, index = open_ones[0], before + len(results)
            self._report.problem(first.key, index, len(self._problems), most_trials(self._definition, first))

    def _kin(self, problem: Problem) -> Sequence[Kin]:
        """Return the other problems of a problem's family with their trials; none if the problem has no family."""
        if not problem.family:
            return ()
        others = [one for one in self._problems if one.family == problem.family and one.key != problem.key]
        return [Kin(one, self._journal.rows(one.key)) for one in others]

    def _allowance(self, index: int) -> float | None:
        """Return the node-seconds for problem number `index` (from 0); None if the campaign has no limit.

        The result is an equal share of the node-seconds that earlier problems left.
        """
        hours = self._definition.budget.node_hours
        if hours is None:
            return None
        before = [row for problem in self._problems[:index] for row in self._journal.rows(problem.key)]
        return max(0.0, 3600 * hours - node_seconds(before)) / (len(self._problems) - index)

    def _allowance_of_second(self, together: Sequence[Problem], left: int) -> float | None:
        """Return the maximum node-seconds of each of these problems over both sessions; None if there is no limit.

        The result is the largest number of node-seconds that any of these problems has used, plus 1/`left` of the
        campaign's unused node-seconds. `left` is the number of problems that share the unused node-seconds.
        """
        hours = self._definition.budget.node_hours
        if hours is None:
            return None
        own = max(node_seconds(self._journal.rows(problem.key)) for problem in together)
        return own + max(0.0, 3600 * hours - node_seconds(self._journal.rows())) / left

    def _room(self) -> bool:
        """Return whether another trial may start now."""
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

    def _wait(self) -> None:
        """Wait briefly for a trial to end; return even if none has ended, since another trial may be able to start."""
        if not self._open():
            self._trials.rest()
        if self._trials.under_way == 0:
            self._sleep(REST_S if self._closed else POLL_S)
        for trial in self._trials.poll(POLL_S):
            self._show_end(trial)

    def _show_end(self, trial: Trial) -> None:
        rows = self._journal.rows(trial.problem)
        if trial.state not in INTERRUPTED:
            self._interrupted.clear()
            done = sum(row.state not in OPEN | INTERRUPTED for row in rows)
            left_s = self._ahead.seconds(self._journal.rows(), self._journal.now())
            self._report.trial(trial, done, best_gain(rows), left_s)
            return
        self._interrupted[trial.state] += trial.message not in (WITHDRAWN, NOT_REACHED)
        times, most = self._interrupted[trial.state], PREEMPTIONS if trial.state is TrialState.PREEMPTED else ATTEMPTS
        if times >= most * self._definition.executor.parallel:
            raise TunerError(
                f"{trial.problem}: a trial was interrupted {times} times in a row (last: {trial.message}): find out "
                "what ends its jobs (preemption, a time limit, a node), then resume the campaign"
            )

    def _failure(self, problem: str, step: Failed) -> CampaignFailedError:
        trial = step.trial
        remedy = launch_failures.advice(trial.message) or "correct the cause"
        return CampaignFailedError(
            f"{problem}: {step.what} ({trial.state}: {trial.message}): see {self._trials.directory(trial)}; "
            f"{remedy}, and start a new campaign"
        )


def in_words(result: ProblemResult) -> str:
    """Return a problem's result as one line of text."""
    found = result.comparison
    if not found:
        return f"{result.note} ({result.trials} trials; {result.stopped})"
    bounds = f"{percent(found.gain_low)} to {percent(found.gain_high)}"
    note = f": {result.note}" if result.note else ""
    return f"gain {percent(found.gain)} ({bounds}){note} after {result.trials} trials; {result.stopped}"
