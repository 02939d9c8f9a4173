# SPDX-License-Identifier: Apache-2.0
"""Run each trial as a separate Slurm job, with a script that people can read and resubmit.

The comment of a job is the key of its trial, which is unique within the campaign. A resumed campaign can therefore find
a killed coordinator's jobs, even a job whose id was not yet stored.
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

LOOK_S = 0.2  # seconds between checks for result files
ASK_S = (1.0, 10.0)  # first and longest pause between queries of Slurm, in seconds; the pauses grow
VISIBLE_S = 15.0  # maximum seconds until a file that another host wrote is visible on a network file system


@dataclass
class _Submitted:
    """A trial and its job.

    `job` is the job's state as last reported by Slurm. `said` is the line last shown on why the job waits. `over_at` is
    the time of the job's end by `JobExecutor`'s clock. `suspended`: the job was suspended while it ran, so its run time
    is invalid.
    """

    trial: Begun
    job_id: int
    job: Job | None = None
    said: str = ""
    over_at: float | None = None
    suspended: bool = False


class JobExecutor:
    """Runs trials by submitting a Slurm job for each.

    `name` is the name of the jobs, which is unique to the campaign. `options` are sbatch options (partition, account,
    ...).
    """

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
        self._clock = 0.0  # seconds slept so far, which do not depend on the system clock
        self._ask_at, self._pause = 0.0, ASK_S[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel all jobs, including a job that was submitted just before an error and whose id was not stored."""
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
        """Number of jobs that wait for nodes or have not been queried yet."""
        return sum(one.job is None or one.job.state in slurm.WAITING for one in self._submitted.values())

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """Take over existing results and jobs. Claim the other trials, so that no job can start them later."""
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
        """Claim a trial, so that no job can start it; if a running job has claimed it first, return the job."""
        claimer = _close(directory)
        jobs = self._slurm.jobs(self._name) if claimer else []
        return next((job for job in jobs if job.id == claimer and not job.over), None)

    def start(self, trial: Begun) -> int | None:
        """Submit a trial's job and return the job's id."""
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
        """Return sbatch options for the working directory and output files, which no line of a script can override."""
        output = str(trial.directory / "job.out").replace("%", "%%")
        where = trial.plan.work_directory or trial.directory
        return [f"--chdir={where}", f"--output={output}", f"--error={output}"]

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        """Wait up to `timeout_s` seconds until at least one trial has ended, and return the trials that have ended.

        Raise TunerError if a job can never start or Slurm does not answer.
        """
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
        """Cancel the jobs that wait for nodes and return the keys of their trials."""
        if self.waiting:
            self._ask()  # so that jobs that have just started are not cancelled
        waiting = [one for one in self._submitted.values() if one.job and one.job.state in slurm.WAITING]
        self._slurm.cancel([one.job_id for one in waiting])
        for one in waiting:
            del self._submitted[one.trial.key]
        return [one.trial.key for one in waiting]

    def preview(self, trial: Begun) -> str:
        """Return, as text, a trial's sbatch command and script."""
        own = [f"--job-name={self._name}", f"--comment={trial.key}", *self.placed(trial)]
        words = shlex.join(["sbatch", *own, str(trial.directory / SCRIPT)])
        return f"{words}\n{self._script.text(trial.plan, trial.directory)}"

    def _look(self, one: _Submitted) -> Finished | None:
        """Return the result of a trial that has ended, or None if the trial is still running.

        The result comes from the trial's result file, or from the state of a job that ended without such a file.
        """
        result = read_result(one.trial.plan, one.trial.directory, one.job_id or None)
        if not result and one.over_at is not None:
            state = one.job.state if one.job else "gone"
            if state not in ("COMPLETED", "FAILED", "gone") or self._clock >= one.over_at + VISIBLE_S:
                result = _without_result(one.trial.directory, one.job_id, state, one.job)
        if not result:
            return None
        if one.suspended and result.state in (TrialState.COMPLETE, TrialState.TIMEOUT):
            words = f"job {one.job_id} was suspended while it ran: its run time is invalid"
            result = dataclasses.replace(result, state=TrialState.PREEMPTED, message=words)
        del self._submitted[one.trial.key]
        return Finished(one.trial.key, result)

    def _ask(self) -> None:
        """Query Slurm for all jobs at once."""
        known = {job.id: job for job in self._slurm.jobs(self._name)} if self._submitted else {}
        for one in self._submitted.values():
            one.job_id = _claimed(one.trial.directory) or one.job_id
            job = known.get(one.job_id)
            if job is None or job.over:  # a job that was requeued, or is missing from one answer, may reappear
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
        """Cancel this campaign's duplicate jobs, whose submission seemed to have failed but took effect later."""
        own = {one.job_id for one in self._submitted.values()}
        self._slurm.cancel([job.id for job in jobs if not job.over and job.id not in own])


def _close(directory: Path) -> int:
    """Claim a trial, so that no job can start it. Return the id of the job that has already claimed the trial, or 0."""
    try:
        (directory / CLAIM).symlink_to("nobody")
    except FileExistsError:
        return _claimed(directory)
    except FileNotFoundError:  # the trial's directory does not exist, so no job can start the trial
        pass
    return 0


def _claimed(directory: Path) -> int:
    """Return the id of the job that claimed a trial, or 0; a trial may have two jobs if its submission was repeated."""
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
        words = f"job {job_id} was cancelled or lost ({state})"
        return TrialResult(TrialState.CANCELLED, output, job_id, words, nodes)
    return TrialResult(TrialState.FAILED, output, job_id, f"job {job_id} ended without a result ({state})", nodes)
