# SPDX-License-Identifier: Apache-2.0
"""Trials from their plans to their final rows in the journal."""

from __future__ import annotations

import dataclasses
import math
import re
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from database.model import Trial, TrialState
from tuner.component import Component, Sample, TrialOutput, TrialPlan
from tuner.errors import ObjectiveError, TunerError
from tuner.executors.base import UNKNOWN, Begun, Executor, TrialResult
from tuner.journal import Journal
from tuner.rows import INTERRUPTED, OPEN
from tuner.step import Start

ATTEMPTS = 3  # trials, for each that runs at once, that are interrupted in a row until the campaign stops
PREEMPTIONS = 30  # the same of those that are preempted: others need the nodes now and then, which is no fault
OUTPUT_ROOM = 65536  # bytes; with less left, a failed trial may only have failed to write
WITHDRAWN = "was withdrawn before it began: its nodes would have come outside the campaign's hours"


class Trials:
    """Runs a campaign's trials, each attempt in a directory of its own below `directory`."""

    def __init__(
        self,
        component: Component,
        executor: Executor,
        journal: Journal,
        directory: Path,
        max_trial_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._component = component
        self._executor = executor
        self._journal = journal
        self._directory = directory
        self._max_trial_s = max_trial_s
        self._monotonic = monotonic
        self._under_way: dict[str, Trial] = {}
        self._lost: list[Trial] = []

    @property
    def under_way(self) -> int:
        """How many trials run or wait for nodes."""
        return len(self._under_way)

    @property
    def waiting(self) -> int:
        """How many of them wait for nodes, as far as is known."""
        return self._executor.waiting

    @property
    def lost(self) -> bool:
        """Whether there are trials that are to be begun again."""
        return bool(self._lost)

    def resume(self) -> None:
        """Take over what an earlier coordinator left under way; what is lost of it is begun again by `start_again`."""
        left = {_key(row): row for row in self._journal.rows() if row.state in OPEN}
        kept = self._executor.resume([self._begun(row) for row in left.values()])
        self._under_way = {key: row for key, row in left.items() if key in kept}
        self._lost = [row for key, row in left.items() if key not in kept]

    def start_again(self) -> None:
        """Begin a lost trial again: the same one, in another directory."""
        self._start(self._journal.again(self._lost.pop(0)))

    def start(self, problem: str, step: Start) -> None:
        """Begin a new trial."""
        self._start(self._journal.plan(problem, step.role, step.point, step.limit_s))

    def poll(self, timeout_s: float) -> Sequence[Trial]:
        """Final rows of trials, as soon as one ended, or none after `timeout_s`. Raises TunerError."""
        self._journal.beat(self._monotonic())
        return [self._end(self._under_way[one.key], one.result) for one in self._executor.poll(timeout_s)]

    def rest(self) -> None:
        """Give back nodes that no trial uses; those that wait for theirs are tried another time."""
        self._journal.beat(self._monotonic())
        for key in self._executor.rest():
            row = dataclasses.replace(self._under_way.pop(key), state=TrialState.CANCELLED, message=WITHDRAWN)
            self._journal.ended(row, None)

    def directory(self, trial: Trial) -> Path:
        """Where the files of a trial's present attempt are."""
        again = "" if trial.attempt == 1 else f".{trial.attempt}"
        return self._directory / re.sub(r"[^\w.-]", "_", trial.problem) / f"{trial.number:04}{again}"

    def prove(self, plan: TrialPlan) -> TrialOutput:
        """Run a plan that is no trial, e.g. a component's proof (`tuner.component.Runner`), while no trial runs."""
        for _ in range(ATTEMPTS):
            number = sum(1 for _ in self._directory.glob("proof-*")) + 1
            directory = self._directory / f"proof-{number:04}"
            self._executor.start(Begun(directory.name, self._limited(plan), directory))
            while not (found := self._executor.poll(1.0)):
                self._journal.beat(self._monotonic())
            result = found[0].result
            if result.state in (TrialState.COMPLETE, TrialState.FAILED):  # a failure is for the component to judge
                return result.output
            if result.state not in INTERRUPTED:
                break
        raise TunerError(f"a proof run did not end ({result.message}): resume the campaign to have it run again")

    def _start(self, trial: Trial) -> None:
        begun = self._begun(trial)
        self._under_way[begun.key] = trial  # also where this is interrupted
        job_id = self._executor.start(begun)
        self._under_way[begun.key] = self._journal.started(trial, job_id, begun.plan.nodes)

    def _begun(self, trial: Trial) -> Begun:
        plan = self._plan(trial)
        limit_s = plan.timeout_s if trial.limit_s is None else min(trial.limit_s, plan.timeout_s)
        return Begun(_key(trial), dataclasses.replace(plan, timeout_s=limit_s), self.directory(trial))

    def _plan(self, trial: Trial) -> TrialPlan:
        return self._limited(self._component.plan(trial.problem, trial.parametrization))

    def _limited(self, plan: TrialPlan) -> TrialPlan:
        return dataclasses.replace(plan, timeout_s=min(plan.timeout_s, self._max_trial_s))

    def _end(self, trial: Trial, result: TrialResult) -> Trial:
        state, message, sample = result.state, result.message, None
        if state is TrialState.COMPLETE:
            try:
                sample = _checked(self._component.read(trial.problem, result.output))
            except ObjectiveError as error:
                state, message = TrialState.FAILED, " ".join(str(error).split())
        elif state is TrialState.TIMEOUT and self._was_pruned(trial, result.output):
            state, sample = TrialState.PRUNED, Sample(trial.limit_s or 0.0)
            message = f"was stopped after {trial.limit_s:g} s, since others are faster"
        if state is TrialState.FAILED and shutil.disk_usage(self._directory).free < OUTPUT_ROOM:
            self._journal.again(trial)  # a resumed campaign is not to believe what it left
            raise TunerError(
                f"{self._directory}: its file system is full, and the output of a trial is lost: make room, then "
                "resume the campaign"
            )
        ended = dataclasses.replace(
            trial,
            state=state,
            message=message,
            slurm_job_id=result.slurm_job_id or trial.slurm_job_id,
            nodes=trial.nodes if result.nodes is None else result.nodes,
            elapsed_s=max(0.0, result.output.elapsed_s),
        )
        ended = self._journal.ended(ended, sample)
        del self._under_way[_key(trial)]
        return ended

    def _was_pruned(self, trial: Trial, output: TrialOutput) -> bool:
        """Whether it was its own limit that stopped it, and not the campaign's, or Slurm's at an unknown run time."""
        limit_s = trial.limit_s
        return limit_s is not None and limit_s < self._plan(trial).timeout_s and output.exit_status != UNKNOWN


def _key(trial: Trial) -> str:
    return f"trial-{trial.id}.{trial.attempt}"


def _checked(sample: Sample) -> Sample:
    if not (math.isfinite(sample.value) and sample.value > 0):
        raise ObjectiveError(f"the objective is {sample.value}, which no run can take: check how it is read")
    return sample
