# SPDX-License-Identifier: Apache-2.0
"""Start a campaign's trials through an executor, and write their results to the journal."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reprise.database.entities import Trial, TrialState
from reprise.tuner.campaign.trial_journal import Journal
from reprise.tuner.errors import CampaignFailedError, NotInEffectError, ObjectiveError, TunerError
from reprise.tuner.executors.executor import UNKNOWN, Begun, Executor, TrialResult
from reprise.tuner.executors.trial_script import APPLICATION
from reprise.tuner.model import private_files
from reprise.tuner.model.component import Component, RoundComponent, Sample, TrialOutput, TrialPlan, Wanted
from reprise.tuner.model.trial_rows import INTERRUPTED, OBJECTION, OPEN
from reprise.tuner.steps.step import Start

ATTEMPTS = 3  # consecutive interruptions, per parallel trial, after which the campaign stops
PREEMPTIONS = 30  # like ATTEMPTS, but for preemptions, which are normal if other users need the nodes
OUTPUT_ROOM = 65536  # bytes of free space; with less, a trial may have failed because it could not write
WITHDRAWN = "withdrawn before it started: nodes would have become available outside the campaign's hours"
NOT_REACHED = "not reached: the run ended before this trial"


class Trials:
    """A campaign's trials that are in progress; each attempt has a separate directory below `directory`.

    `rounds` maps each problem to its round (`Problem.round`), a group of problems that one run can evaluate together,
    or to "" if each of the problem's trials is a separate run.
    """

    def __init__(
        self,
        component: Component,
        executor: Executor,
        journal: Journal,
        directory: Path,
        max_trial_s: float,
        rounds: Mapping[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._component = component
        self._executor = executor
        self._journal = journal
        self._directory = directory
        self._max_trial_s = max_trial_s
        self._rounds = rounds or {}
        self._monotonic = monotonic
        self._under_way: dict[str, list[Trial]] = {}  # trials in order of evaluation, by the key of their run
        self._lost: list[Trial] = []

    @property
    def under_way(self) -> int:
        """Number of runs that are in progress or wait for nodes."""
        return len(self._under_way)

    @property
    def waiting(self) -> int:
        """Number of runs that wait for nodes."""
        return self._executor.waiting

    @property
    def lost(self) -> bool:
        """Whether there are trials that were lost and must be started again."""
        return bool(self._lost)

    def resume(self) -> None:
        """Take over the runs that an earlier coordinator left; `start_again` repeats trials that are lost.

        If a run evaluates several trials, only its first trial is taken over; the others are lost.
        """
        left = {_key(row): row for row in self._journal.rows() if row.state in OPEN}
        kept = self._executor.resume([self._begun([row]) for row in left.values()])
        self._under_way = {key: [row] for key, row in left.items() if key in kept}
        self._lost = [row for key, row in left.items() if key not in kept]

    def start_again(self) -> None:
        """Start a lost trial again in a new directory, with other lost trials that the same run can evaluate."""
        first = self._lost[0]
        together = {first.problem: first}
        if run := self._rounds.get(first.problem):
            for row in self._lost:
                if self._rounds[row.problem] == run:
                    together.setdefault(row.problem, row)
        self._lost = [row for row in self._lost if together.get(row.problem) is not row]
        self._start([self._journal.again(row) for row in together.values()])

    def start(self, steps: Sequence[tuple[str, Start]]) -> None:
        """Start one run that evaluates one new trial for each problem in `steps`."""
        self._start([self._journal.plan(problem, one.role, one.point, one.limit_s) for problem, one in steps])

    def poll(self, timeout_s: float) -> Sequence[Trial]:
        """Wait up to `timeout_s` seconds until a run has ended, and return the final rows of its trials.

        Raise TunerError if a trial can never run, or if the file system is full.
        """
        self._journal.beat(self._monotonic())
        ended: list[Trial] = []
        for one in self._executor.poll(timeout_s):
            ended += self._end(one.key, one.result)
        return ended

    def rest(self) -> None:
        """Release nodes that no trial uses. Cancel the trials that wait for nodes; the campaign repeats them later."""
        self._journal.beat(self._monotonic())
        for key in self._executor.rest():
            for trial in self._under_way.pop(key):
                self._journal.ended(dataclasses.replace(trial, state=TrialState.CANCELLED, message=WITHDRAWN), None)

    def directory(self, trial: Trial) -> Path:
        """Return the directory of a trial's current attempt."""
        again = "" if trial.attempt == 1 else f".{trial.attempt}"
        return self._directory / re.sub(r"[^\w.-]", "_", trial.problem) / f"{trial.number:04}{again}"

    def prove(self, plan: TrialPlan) -> TrialOutput:
        """Run a plan that is not a trial, such as a component's proof (`component.Runner`).

        No trial may be in progress.
        """
        for _ in range(ATTEMPTS):
            number = sum(1 for _ in self._directory.glob("proof-*")) + 1
            directory = self._directory / f"proof-{number:04}"
            self._executor.start(Begun(directory.name, self._limited(plan), directory))
            while not (found := self._executor.poll(1.0)):
                self._journal.beat(self._monotonic())
            result = found[0].result
            if result.state in (TrialState.COMPLETE, TrialState.FAILED):  # the component decides what a failure means
                return result.output
            if result.state not in INTERRUPTED:
                break
        raise TunerError(f"a proof run did not end ({result.message}): resume the campaign to repeat it")

    def _start(self, together: Sequence[Trial]) -> None:
        begun = self._begun(together)
        self._under_way[begun.key] = list(together)  # so that no trial is lost if a signal interrupts the next line
        job_id = self._executor.start(begun)
        self._under_way[begun.key] = [self._journal.started(trial, job_id, begun.plan.nodes) for trial in together]
        for trial in together[1:]:
            _point_to(begun.directory, self.directory(trial))

    def _begun(self, together: Sequence[Trial]) -> Begun:
        """Return the run that evaluates these trials; it has the key and the directory of the first trial."""
        first = together[0]
        plan = self._plan(together)
        if not self._rounds.get(first.problem) and first.limit_s is not None:
            plan = dataclasses.replace(plan, timeout_s=min(first.limit_s, plan.timeout_s))
        return Begun(_key(first), plan, self.directory(first))

    def _plan(self, together: Sequence[Trial]) -> TrialPlan:
        first = together[0]
        if self._rounds.get(first.problem):
            wanted = [Wanted(one.problem, one.parametrization, one.limit_s) for one in together]
            return self._limited(self._round_component().plan_round(wanted))
        return self._limited(self._component.plan(first.problem, first.parametrization))

    def _round_component(self) -> RoundComponent:
        if isinstance(self._component, RoundComponent):
            return self._component
        raise TypeError(f"{self._component.name} has problems of one round but no `plan_round`: this is a defect in it")

    def _limited(self, plan: TrialPlan) -> TrialPlan:
        return dataclasses.replace(plan, timeout_s=min(plan.timeout_s, self._max_trial_s))

    def _end(self, key: str, result: TrialResult) -> list[Trial]:
        """Write and return the final rows of a run's trials; each trial gets an equal share of the run's time."""
        together = self._under_way[key]
        found, hopeless = [], None
        for trial in together:
            try:
                found.append(self._judged(trial, result))
            except CampaignFailedError as error:
                found.append((TrialState.FAILED, " ".join(str(error).split()), None))
                hopeless = error
        if result.state is not TrialState.COMPLETE and len(together) > 1:
            found = _one_to_blame(found)
        if any(state is TrialState.FAILED for state, _, _ in found):
            self._check_room(together)
        ended = []
        for trial, (state, message, sample) in zip(together, found, strict=True):
            row = dataclasses.replace(
                trial,
                state=state,
                message=message,
                slurm_job_id=result.slurm_job_id or trial.slurm_job_id,
                nodes=trial.nodes if result.nodes is None else result.nodes,
                elapsed_s=max(0.0, result.output.elapsed_s) / len(together),
            )
            ended.append(self._journal.ended(row, sample))
        del self._under_way[key]
        if hopeless:
            raise hopeless
        return ended

    def _judged(self, trial: Trial, result: TrialResult) -> _Judged:
        """Return the state, message and sample of one trial, given the result of its run."""
        in_round = bool(self._rounds.get(trial.problem))
        if result.state is TrialState.COMPLETE or in_round:
            try:
                sample = _checked(self._component.read(trial.problem, result.output))
            except ObjectiveError as error:
                if result.state is TrialState.COMPLETE:
                    objection = OBJECTION if isinstance(error, NotInEffectError) else ""
                    return TrialState.FAILED, objection + " ".join(str(error).split()), None
                return result.state, result.message, None
            if sample.given_up:
                return TrialState.PRUNED, f"given up above {sample.value:.3g} {sample.unit}", sample
            return TrialState.COMPLETE, "", sample
        if result.state is TrialState.TIMEOUT and self._was_pruned(trial, result.output):
            message = f"stopped after {trial.limit_s:g} s, since other points are faster"
            return TrialState.PRUNED, message, Sample(trial.limit_s or 0.0)
        return result.state, result.message, None

    def _check_room(self, together: Sequence[Trial]) -> None:
        """Raise TunerError if the file system is full, since this may be the only reason why these trials failed."""
        if shutil.disk_usage(self._directory).free < OUTPUT_ROOM:
            for trial in together:
                self._journal.again(trial)  # so that a resumed campaign repeats the trial, whose output is incomplete
            raise TunerError(
                f"{self._directory}: its file system is full, and the output of a trial is lost: free some space, then "
                "resume the campaign"
            )

    def _was_pruned(self, trial: Trial, output: TrialOutput) -> bool:
        """Return whether a trial was stopped at its own time limit rather than the campaign's or Slurm's."""
        limit_s = trial.limit_s
        return limit_s is not None and limit_s < self._plan([trial]).timeout_s and output.exit_status != UNKNOWN


def proofs_with_application(directory: Path) -> int:
    """Return how many times a campaign ran its application for a proof, given the campaign's directory.

    These runs are not among the campaign's trials.
    """
    return sum(1 for _ in directory.glob(f"proof-*/{APPLICATION}"))


_Judged = tuple[TrialState, str, Sample | None]


def _one_to_blame(found: Sequence[_Judged]) -> list[_Judged]:
    """Return the results of one run's trials, in order of evaluation; those that the run did not reach are CANCELLED.

    If a run ends early, the first trial without a sample was in progress, and keeps its state and message. The later
    trials without a sample never started.
    """
    judged = list(found)
    without = [index for index, (_, _, sample) in enumerate(judged) if sample is None]
    for index in without[1:]:
        judged[index] = (TrialState.CANCELLED, NOT_REACHED, None)
    return judged


def _point_to(directory: Path, name: Path) -> None:
    """Make `name`, the path of a trial's directory, a symbolic link to `directory`, which has the run's files."""
    with contextlib.suppress(OSError):
        private_files.make_directory(name.parent)
        name.unlink(missing_ok=True)
        name.symlink_to(directory)


def _key(trial: Trial) -> str:
    return f"trial-{trial.id}.{trial.attempt}"


def _checked(sample: Sample) -> Sample:
    if not (math.isfinite(sample.value) and sample.value > 0):
        raise ObjectiveError(f"the objective is {sample.value}, but must be finite and above 0: check how it is read")
    return sample
