# SPDX-License-Identifier: Apache-2.0
"""Trials as Slurm jobs of their own, from a script that a person can read and submit again.

A job is told from others of its campaign by its comment, which is its trial's key. So it is found again after its
coordinator was killed, also between the submission and the note of its id.
"""

from __future__ import annotations

import dataclasses
import logging
import shlex
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from reprise.database.entities import TrialState
from reprise.tuner.executors import slurm_commands as slurm
from reprise.tuner.executors.executor import UNKNOWN, Begun, Finished, Say, TrialResult, prepare, read_output
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.slurm_commands import Job, Slurm, SlurmError
from reprise.tuner.executors.trial_script import CLAIM, SCRIPT, TrialScript, read_result

log = logging.getLogger(__name__)

LOOK_S = 0.2  # between looks for the result files
ASK_S = (1.0, 10.0)  # between questions to Slurm: the first, then ever longer up to the last
VISIBLE_S = 15.0  # a network file system shows a file of another host within this time


@dataclass
class _Submitted:
    """A trial's job. `job`: as Slurm last told of it; `over_at`: since when it is over, by `JobExecutor`'s clock.
    `suspended`: it was seen to stand still, so that its run time is none."""

    trial: Begun
    job_id: int
    job: Job | None = None
    said: str = ""
    over_at: float | None = None
    suspended: bool = False


class JobExecutor:
    """`name` is the jobs' name, this campaign's own. `options` are sbatch's (partition, account, ...)."""

    def __init__(
        self,
        slurm: Slurm,
        name: str,
        launcher: Launcher,
        options: Sequence[str],
        say: Say,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._slurm = slurm
        self._name = name
        self._script = TrialScript(name, launcher, options)
        self._say = say
        self._sleep = sleep
        self._submitted: dict[str, _Submitted] = {}
        self._used = False
        self._clock = 0.0  # seconds slept: what a clock that is set does not change
        self._ask_at, self._pause = 0.0, ASK_S[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancels also what was submitted and could not be noted any more."""
        left = [one.job_id for one in self._submitted.values()]
        if not self._used or not (left or error):
            return
        try:
            left = [job.id for job in self._slurm.jobs(self._name) if not job.over]
        except SlurmError as unknown:
            log.warning("%s", unknown)
        self._slurm.cancel(left)

    @property
    def waiting(self) -> int:
        return sum(one.job is None or one.job.state in slurm.WAITING for one in self._submitted.values())

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """A trial of which no job is known or has begun is closed, so that a job which comes late does not run it."""
        self._used = True
        known = {job.comment: job for job in self._slurm.jobs(self._name)}
        for trial in left:
            job, there = known.get(trial.key), read_result(trial.plan, trial.directory) is not None
            if not there and (job is None or job.over):
                job = self._begun_meanwhile(trial.directory)
            if there or job:
                self._submitted[trial.key] = _Submitted(trial, job.id if job else 0, job)
        slurm.clear(self._slurm, self._name, [one.job_id for one in self._submitted.values()], self._sleep)
        return list(self._submitted)

    def _begun_meanwhile(self, directory: Path) -> Job | None:
        """The job that claimed a trial and has not ended, though it was not known a moment ago; else none ever will."""
        claimer = _close(directory)
        jobs = self._slurm.jobs(self._name) if claimer else []
        return next((job for job in jobs if job.id == claimer and not job.over), None)

    def start(self, trial: Begun) -> int | None:
        self._used = True
        prepare(trial.plan, trial.directory)
        script = self._script.write(trial.plan, trial.directory)
        options = [*self.placed(trial), str(script)]
        job_id = slurm.submit_once(self._slurm, self._name, trial.key, options, self._sleep)
        self._submitted[trial.key] = _Submitted(trial, job_id)
        self._ask_at, self._pause = self._clock + ASK_S[0], ASK_S[0]
        return job_id

    @staticmethod
    def placed(trial: Begun) -> list[str]:
        """Options on the command line, which nothing in a script can change: where a trial is, and its job's output."""
        output = str(trial.directory / "job.out").replace("%", "%%")
        where = trial.plan.work_directory or trial.directory
        return [f"--chdir={where}", f"--output={output}", f"--error={output}"]

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        until = self._clock + timeout_s
        while True:
            found = [end for one in list(self._submitted.values()) if (end := self._look(one))]
            if found or self._clock >= until:
                return found
            if self._clock >= self._ask_at:
                self._ask()
                self._pause = min(self._pause * 1.5, ASK_S[1])
                self._ask_at = self._clock + self._pause
                continue
            self._sleep(LOOK_S)
            self._clock += LOOK_S

    def rest(self) -> Collection[str]:
        if self.waiting:
            self._ask()  # what began meanwhile may go on
        waiting = [one for one in self._submitted.values() if one.job and one.job.state in slurm.WAITING]
        self._slurm.cancel([one.job_id for one in waiting])
        for one in waiting:
            del self._submitted[one.trial.key]
        return [one.trial.key for one in waiting]

    def preview(self, trial: Begun) -> str:
        own = [f"--job-name={self._name}", f"--comment={trial.key}", *self.placed(trial)]
        words = shlex.join(["sbatch", *own, str(trial.directory / SCRIPT)])
        return f"{words}\n{self._script.text(trial.plan, trial.directory)}"

    def _look(self, one: _Submitted) -> Finished | None:
        """A trial's end, from its result file; without it only where its job has ended and the file will not come."""
        result = read_result(one.trial.plan, one.trial.directory, one.job_id or None)
        if not result and one.over_at is not None:
            state = one.job.state if one.job else "gone"
            if state not in ("COMPLETED", "FAILED", "gone") or self._clock >= one.over_at + VISIBLE_S:
                result = _without_result(one.trial.directory, one.job_id, state, one.job)
        if not result:
            return None
        if one.suspended and result.state in (TrialState.COMPLETE, TrialState.TIMEOUT):
            words = f"job {one.job_id} was suspended while it ran: what it measured tells nothing"
            result = dataclasses.replace(result, state=TrialState.PREEMPTED, message=words)
        del self._submitted[one.trial.key]
        return Finished(one.trial.key, result)

    def _ask(self) -> None:
        """Ask Slurm for all jobs at once."""
        known = {job.id: job for job in self._slurm.jobs(self._name)} if self._submitted else {}
        for one in self._submitted.values():
            one.job_id = _claimed(one.trial.directory) or one.job_id
            job = known.get(one.job_id)
            if job is None or job.over:  # a job that is requeued, or was left out of an answer, is back later
                one.over_at = self._clock if one.over_at is None else one.over_at
                one.job = job or (None if one.job is None or not one.job.over else one.job)
                continue
            one.job, one.over_at = job, None
            one.suspended = job.state in slurm.SUSPENDED or (one.suspended and job.state not in slurm.WAITING)
            words = job.waits(one.trial.plan.nodes) if job.state in slurm.WAITING else ""
            if words and words != one.said:
                self._say(words)
            one.said = words
        self._cancel_doubles(known.values())

    def _cancel_doubles(self, jobs: Collection[Job]) -> None:
        """Cancel jobs of this campaign that nobody waits for: of a submission that seemed to fail, and came late."""
        own = {one.job_id for one in self._submitted.values()}
        self._slurm.cancel([job.id for job in jobs if not job.over and job.id not in own])


def _close(directory: Path) -> int:
    """Claim a trial, so that no job runs it from now on; the id of the job that was quicker, 0 where none was."""
    try:
        (directory / CLAIM).symlink_to("nobody")
    except FileExistsError:
        return _claimed(directory)
    except FileNotFoundError:  # not even its directory was made
        pass
    return 0


def _claimed(directory: Path) -> int:
    """The job that runs a trial, where it was submitted twice; 0 where none does yet."""
    try:
        return int(str((directory / CLAIM).readlink()))
    except (OSError, ValueError):
        return 0


def _without_result(directory: Path, job_id: int, state: str, job: Job | None) -> TrialResult:
    output = read_output(directory, UNKNOWN, (job.run_s or 0.0) if job else 0.0)
    nodes = job.nodes if job else None
    if state in slurm.TIMED_OUT:
        return TrialResult(TrialState.TIMEOUT, output, job_id, f"Slurm ended job {job_id} at its time limit", nodes)
    if state in slurm.PREEMPTED:
        return TrialResult(TrialState.PREEMPTED, output, job_id, f"job {job_id} was preempted", nodes)
    if state in slurm.CANCELLED or state == "gone":
        words = f"job {job_id} ended from outside ({state})"
        return TrialResult(TrialState.CANCELLED, output, job_id, words, nodes)
    return TrialResult(TrialState.FAILED, output, job_id, f"job {job_id} ended without a result ({state})", nodes)
