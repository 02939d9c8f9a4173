# SPDX-License-Identifier: Apache-2.0
"""One trial, from its plan to its final row in the journal."""

from __future__ import annotations

import dataclasses
import math
import re
import shutil
from pathlib import Path

from database.model import Trial, TrialRole, TrialState
from tuner.component import Component, Sample, TrialOutput, TrialPlan
from tuner.errors import ObjectiveError, TunerError
from tuner.executors.base import Executor, Started, TrialResult
from tuner.journal import OPEN, Journal
from tuner.space import Parametrization

INTERRUPTED = frozenset((TrialState.PREEMPTED, TrialState.CANCELLED))  # says nothing of the parametrization
ATTEMPTS = 3  # of a trial that is interrupted every time, until the campaign stops

OUTPUT_ROOM = 65536  # bytes; with less left, a failed trial may only have failed to write


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
        """The trial's final row. One that was preempted or cancelled is tried again, as a row of its own.

        Raises TunerError where that happens `ATTEMPTS` times in a row; a resumed campaign tries as often again.
        """
        attempts = 0
        while True:
            trial = self._journal.next(problem, role, parametrization)
            if trial.state in OPEN:
                trial = self._run(trial)
                attempts += 1
            if trial.state not in INTERRUPTED:
                return trial
            if attempts == ATTEMPTS:
                raise TunerError(
                    f"{problem}: a trial was interrupted {ATTEMPTS} times in a row, at last so: {trial.message}: "
                    "see what ends its jobs (preemption, a time limit, a node), then resume the campaign"
                )

    def directory(self, trial: Trial) -> Path:
        """Where the trial's files are."""
        return self._directory / re.sub(r"[^\w.-]", "_", trial.problem) / f"{trial.number:04}"

    def prove(self, plan: TrialPlan) -> TrialOutput:
        """Run a plan that is no trial, e.g. a component's proof (`tuner.component.Runner`)."""
        self._proofs += 1
        for _ in range(ATTEMPTS):
            result = self._execute(plan, self._directory / f"proof-{self._proofs:04}", lambda _: None)
            if result.state in (TrialState.COMPLETE, TrialState.FAILED):  # a failure is for the component to judge
                return result.output
            if result.state not in INTERRUPTED:
                break
        raise TunerError(f"a proof run did not end ({result.message}): resume the campaign to have it run again")

    def _run(self, trial: Trial) -> Trial:
        plan = self._component.plan(trial.problem, trial.parametrization)
        running = trial

        def started(job_id: int | None) -> None:
            nonlocal running
            running = self._journal.started(trial, job_id)

        result = self._execute(plan, self.directory(trial), started)
        state, message, sample = result.state, result.message, None
        if state is TrialState.COMPLETE:
            try:
                sample = _checked(self._component.read(trial.problem, result.output))
            except ObjectiveError as error:
                state, message = TrialState.FAILED, " ".join(str(error).split())
        if state is TrialState.FAILED and shutil.disk_usage(self._directory).free < OUTPUT_ROOM:
            raise TunerError(
                f"{self._directory}: its file system is full, and the output of a trial is lost: make room, then "
                "resume the campaign"
            )
        return self._journal.ended(running, state, sample, message)

    def _execute(self, plan: TrialPlan, directory: Path, started: Started) -> TrialResult:
        limited = dataclasses.replace(plan, timeout_s=min(plan.timeout_s, self._max_trial_s))
        return self._executor.run(limited, directory, started)


def _checked(sample: Sample) -> Sample:
    if not (math.isfinite(sample.value) and sample.value > 0):
        raise ObjectiveError(f"the objective is {sample.value}, which no run can take: check how it is read")
    return sample
