# SPDX-License-Identifier: Apache-2.0
"""Trials as plain processes of this host, without Slurm and without launcher: for trying things out, and for tests."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from database.model import TrialState
from tuner.component import TrialPlan
from tuner.executors import process
from tuner.executors.base import (
    Started,
    TrialResult,
    ended,
    host_environment,
    preloaded,
    prepare,
    read_output,
    timed_out,
    variables,
)
from tuner.executors.launch import Launcher
from tuner.executors.script import MARGIN_S, TrialScript, read_result


class LocalExecutor:
    """Runs a plan's program once, whatever number of tasks it asks for."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def run(self, plan: TrialPlan, directory: Path, started: Started) -> TrialResult:
        prepare(plan, directory)
        started(None)
        if plan.script is not None or plan.before:
            return _run_script(plan, directory)
        environment = preloaded(plan, {**host_environment(), **variables(plan, directory)})
        done = process.run(plan.argv, environment, directory, plan.timeout_s)
        return timed_out(done.output, plan.timeout_s) if done.timed_out else ended(done.output)


def _run_script(plan: TrialPlan, directory: Path) -> TrialResult:
    """What a job would run; the script itself stops what takes too long."""
    script = TrialScript("local", Launcher("none")).write(plan, directory)
    process.run(["bash", str(script)], host_environment(), directory, plan.timeout_s + MARGIN_S, name="job.")
    output = read_output(directory, -1, 0.0)
    return read_result(plan, directory) or TrialResult(TrialState.FAILED, output, None, "ended without a result")
