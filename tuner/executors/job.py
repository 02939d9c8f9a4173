# SPDX-License-Identifier: Apache-2.0
"""Trials as Slurm jobs of their own, from a script that a person can read and submit again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from database.model import TrialState
from tuner.component import TrialPlan
from tuner.executors import slurm
from tuner.executors.base import Say, Started, TrialResult, prepare, read_output
from tuner.executors.launch import Launcher
from tuner.executors.script import TrialScript, read_result
from tuner.executors.slurm import Slurm

LOOK_S = 0.2  # between looks for the result file
ASK_S = (1.0, 10.0)  # between questions to Slurm: the first, then ever longer up to the last
VISIBLE_S = 15.0  # a network file system shows a file of another host within this time


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
        self._job_id: int | None = None

    def __enter__(self) -> Self:
        slurm.clear(self._slurm, self._name, self._sleep)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._job_id is not None:
            self._slurm.cancel([self._job_id])
            self._job_id = None

    def run(self, plan: TrialPlan, directory: Path, started: Started) -> TrialResult:
        prepare(plan, directory)
        script = self._script.write(plan, directory)
        output = str(directory / "job.out").replace("%", "%%")
        where = [f"--chdir={plan.work_directory or directory}", f"--output={output}", f"--error={output}"]
        self._job_id = job_id = self._slurm.submit([*where, str(script)])
        started(job_id)
        result = self._wait(plan, directory, job_id)
        self._job_id = None
        return result

    def _wait(self, plan: TrialPlan, directory: Path, job_id: int) -> TrialResult:
        """Wait for the result file, however long the queue is, or for the job's end without it."""
        clock, ask_at, pause, said = 0.0, ASK_S[0], ASK_S[0], ""
        while not (result := read_result(plan, directory, job_id)):
            if clock >= ask_at:
                job = self._slurm.job(job_id)
                state = job.state if job else "gone"
                if state not in slurm.WAITING | slurm.ACTIVE:
                    return self._last_look(plan, directory, job_id, state)
                words = job.waits(job_id, plan.nodes) if job and state in slurm.WAITING else ""
                if words and words != said:
                    self._say(words)
                said = words
                pause = min(pause * 1.5, ASK_S[1])
                ask_at = clock + pause
            self._sleep(LOOK_S)
            clock += LOOK_S
        return result

    def _last_look(self, plan: TrialPlan, directory: Path, job_id: int, state: str) -> TrialResult:
        """The result of a job that has ended. Where it ended by itself, the file may not be visible here yet."""
        clock = 0.0
        while not (result := read_result(plan, directory, job_id)):
            if state not in ("COMPLETED", "FAILED", "gone") or clock >= VISIBLE_S:
                return _without_result(directory, job_id, state)
            self._sleep(LOOK_S)
            clock += LOOK_S
        return result


def _without_result(directory: Path, job_id: int, state: str) -> TrialResult:
    output = read_output(directory, -1, 0.0)
    if state in slurm.TIMED_OUT:
        return TrialResult(TrialState.TIMEOUT, output, job_id, f"Slurm ended job {job_id} at its time limit")
    if state in slurm.PREEMPTED:
        return TrialResult(TrialState.PREEMPTED, output, job_id, f"job {job_id} was preempted")
    if state in slurm.CANCELLED or state == "gone":
        return TrialResult(TrialState.CANCELLED, output, job_id, f"job {job_id} ended from outside ({state})")
    return TrialResult(TrialState.FAILED, output, job_id, f"job {job_id} ended without a result ({state})")
