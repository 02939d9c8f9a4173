# SPDX-License-Identifier: Apache-2.0
"""One run of an application under the witness, to record the communication for a replay."""

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
"""Directory in the run's directory where ranks write traces; all nodes need access to it."""


def recording(application: Application, config: Config, timeout_s: float) -> TrialPlan:
    """Return a plan that runs a batch script as its user does, and records it.

    Raises:
        TunerError: The script cannot be read, or the witness is not installed or cannot be loaded into the program.
    """
    plan = witnessed(application, config, timeout_s)
    environment = {**plan.environment, VARIABLE: f"{{directory}}/{TRACES}"}
    return replace(plan, environment=environment, files={f"{TRACES}/.made": ""})


def record(plan: TrialPlan, executor: Executor, directory: Path, *, keep: bool = False) -> Mix:
    """Run a plan made by `recording` once, in `directory`, and return the mix of its communication.

    Traces are large, some 80 bytes a call, and are removed unless `keep` is set.

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
