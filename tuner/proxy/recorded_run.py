# SPDX-License-Identifier: Apache-2.0
"""Run an application once with the witness loaded, to record its communication for a replay."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from reprise.config import Config
from reprise.tuner.errors import ProxyError
from reprise.tuner.executors.executor import Executor
from reprise.tuner.model.component import TrialPlan
from reprise.tuner.profile.profiled_run import Application, run_once, witnessed
from reprise.tuner.proxy.mix import Mix
from reprise.tuner.proxy.trace_mix import mix_of

VARIABLE = "REPRISE_WITNESS_TRACE"
TRACES = "traces"
"""Subdirectory of the run's directory to which ranks write their traces; all nodes need access to it."""


def recording(application: Application, config: Config, timeout_s: float) -> TrialPlan:
    """Return a plan to run an application's batch script as its user does, and to record its communication.

    Raises:
        TunerError: The script cannot be read, or the witness is not installed or cannot be loaded into the program.
    """
    plan = witnessed(application, config, timeout_s)
    environment = {**plan.environment, VARIABLE: f"{{directory}}/{TRACES}"}
    return replace(plan, environment=environment, files={f"{TRACES}/.made": ""})


def record(plan: TrialPlan, executor: Executor, directory: Path, *, keep: bool = False) -> Mix:
    """Run a plan made by `recording` once, in `directory`, and return the mix of its communication.

    The traces take some 80 bytes per call; they are removed unless `keep` is set.

    Raises:
        ProxyError: The run failed, or its communication cannot be replayed.
    """
    if failure := run_once(plan, executor, directory):
        raise ProxyError(f"the recorded run failed ({failure}): see {directory}")
    try:
        return mix_of(directory / TRACES)
    finally:
        if not keep:
            shutil.rmtree(directory / TRACES, ignore_errors=True)
