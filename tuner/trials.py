# SPDX-License-Identifier: Apache-2.0
"""One trial, from its plan to its final row in the journal."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

from database.model import Trial, TrialRole, TrialState
from tuner.component import Component, Sample, TrialOutput, TrialPlan
from tuner.errors import ObjectiveError, TunerError
from tuner.executors.base import Executor, Started, TrialResult
from tuner.journal import OPEN, Journal
from tuner.space import Parametrization

INTERRUPTED = frozenset((TrialState.PREEMPTED, TrialState.CANCELLED))  # says nothing of the parametrization
ATTEMPTS = 3  # of a trial that is interrupted every time


class Trials:
    """Runs a campaign's trials, each in a directory of its own below `directory`."""

    def __init__(
        self, component: Component, executor: Executor, journal: Journal, directory: Path, max_trial_s: float
    ) -> None:
        self._component = component
        self._executor = executor
        self._journal = journal
        self._directory = directory
        self._max_trial_s = max_trial_s
        self._proofs = 0

    def evaluate(self, problem: str, role: TrialRole, parametrization: Parametrization) -> Trial:
        """The trial's final row. One that was preempted or cancelled is tried again, as a row of its own."""
        for _ in range(ATTEMPTS):
            trial = self._journal.next(problem, role, parametrization)
            if trial.state in OPEN:
                trial = self._run(trial)
            if trial.state not in INTERRUPTED:
                break
        return trial

    def directory(self, trial: Trial) -> Path:
        """Where the trial's files are."""
        return self._directory / re.sub(r"[^\w.-]", "_", trial.problem) / f"{trial.number:04}"

    def prove(self, plan: TrialPlan) -> TrialOutput:
        """Run a plan that is no trial, e.g. a component's proof (`tuner.component.Runner`)."""
        self._proofs += 1
        result = self._execute(plan, self._directory / f"proof-{self._proofs:04}", lambda _: None)
        if result.state not in (TrialState.COMPLETE, TrialState.FAILED):  # a failure is for the component to judge
            raise TunerError(f"a proof run {result.message}: resume the campaign to have it run again")
        return result.output

    def _run(self, trial: Trial) -> Trial:
        plan = self._component.plan(trial.problem, trial.parametrization)
        running = trial

        def started(job_id: int | None) -> None:
            nonlocal running
            running = self._journal.started(trial, job_id)

        result = self._execute(plan, self.directory(trial), started)
        if result.state is not TrialState.COMPLETE:
            return self._journal.ended(running, result.state, None, result.message)
        try:
            sample = _checked(self._component.read(trial.problem, result.output))
        except ObjectiveError as error:
            return self._journal.ended(running, TrialState.FAILED, None, " ".join(str(error).split()))
        return self._journal.ended(running, TrialState.COMPLETE, sample, "")

    def _execute(self, plan: TrialPlan, directory: Path, started: Started) -> TrialResult:
        limited = dataclasses.replace(plan, timeout_s=min(plan.timeout_s, self._max_trial_s))
        return self._executor.run(limited, directory, started)


def _checked(sample: Sample) -> Sample:
    if not (math.isfinite(sample.value) and sample.value > 0):
        raise ObjectiveError(f"the objective is {sample.value}, which no run can take: check how it is read")
    return sample
