# SPDX-License-Identifier: Apache-2.0
"""Trials as plain processes of this host, without Slurm and without launcher: for trying things out, and for tests."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from tuner.component import TrialPlan
from tuner.executors import process
from tuner.executors.base import Started, TrialResult, ended, host_environment, prepare, timed_out, variables


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
        environment = {**host_environment(), **variables(plan, directory)}
        done = process.run(plan.argv, environment, directory, plan.timeout_s)
        return timed_out(done.output, plan.timeout_s) if done.timed_out else ended(done.output)
