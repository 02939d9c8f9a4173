# SPDX-License-Identifier: Apache-2.0
"""Run trials as processes on this host, without Slurm and without a launcher, for experiments and tests."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Self

from reprise.database.entities import TrialState
from reprise.tuner.executors import process_executor
from reprise.tuner.executors.executor import (
    UNKNOWN,
    Begun,
    Finished,
    TrialResult,
    ended,
    exports,
    host_environment,
    preloaded,
    prepare,
    read_output,
    timed_out,
    variables,
)
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.process_executor import Ended, Processes
from reprise.tuner.executors.trial_script import MARGIN_S, TrialScript, read_result
from reprise.tuner.model.component import TrialPlan


class LocalExecutor:
    """Runs a plan's program or script as a single process, regardless of the plan's number of tasks."""

    def __init__(self) -> None:
        self._processes = Processes()
        self._trials: dict[str, Begun] = {}
        self._found: list[Finished] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.stop()

    @property
    def waiting(self) -> int:
        """Always 0, since local trials need no nodes."""
        return 0

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """Take over only existing results, and kill processes that outlived their coordinator."""
        for trial in left:
            process_executor.end_all_below(trial.directory)
            if _is_script(trial.plan) and (result := read_result(trial.plan, trial.directory)):
                self._found.append(Finished(trial.key, result))
        return [one.key for one in self._found]

    def start(self, trial: Begun) -> int | None:
        """Start a trial as a process, and return None because there is no Slurm job."""
        plan, directory = trial.plan, trial.directory
        prepare(plan, directory)
        if _is_script(plan):  # the trial script itself enforces the plan's time limit
            argv = ["bash", str(TrialScript("local", Launcher("none")).write(plan, directory))]
            self._processes.start(trial.key, argv, host_environment(), directory, plan.timeout_s + MARGIN_S, "job.")
        else:
            environment = preloaded(plan, {**host_environment(), **variables(plan, directory)})
            self._processes.start(trial.key, plan.argv, environment, directory, plan.timeout_s)
        self._trials[trial.key] = trial
        return None

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        """Wait up to `timeout_s` seconds until at least one trial has ended, and return the trials that have ended."""
        found, self._found = self._found, []
        ended = self._processes.poll(0.0 if found else timeout_s)
        return found + [Finished(done.key, _result(self._trials.pop(done.key), done)) for done in ended]

    def rest(self) -> Collection[str]:
        """Do nothing, since local trials need no nodes."""
        return ()

    def preview(self, trial: Begun) -> str:
        """Return the script or the command line that `start` would run, as text."""
        plan = trial.plan
        if _is_script(plan):
            return TrialScript("local", Launcher("none")).text(plan, trial.directory)
        return f"{exports(preloaded(plan, variables(plan, trial.directory)))}{shlex.join(plan.argv)}\n"


def _is_script(plan: TrialPlan) -> bool:
    return plan.script is not None or bool(plan.before)


def _result(trial: Begun, done: Ended) -> TrialResult:
    if _is_script(trial.plan):
        nothing = TrialResult(
            TrialState.FAILED, read_output(trial.directory, UNKNOWN, 0.0), None, "ended without a result: see job.err"
        )
        return read_result(trial.plan, trial.directory) or nothing
    return timed_out(done.output, trial.plan.timeout_s) if done.timed_out else ended(done.output)
