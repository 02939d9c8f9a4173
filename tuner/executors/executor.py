# SPDX-License-Identifier: Apache-2.0
"""Common interface of executors, which run trials and return the results."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Protocol, Self

from reprise.database.entities import TrialState
from reprise.tuner.errors import TunerError
from reprise.tuner.executors import launch_failures
from reprise.tuner.model import private_files
from reprise.tuner.model.component import TrialOutput, TrialPlan

OUTPUT_LIMIT = 4 * 1024 * 1024  # maximum bytes of a trial's output to read; benchmarks print only kilobytes

UNKNOWN = -1  # exit status of a program whose job ended without reporting the program's exit status

# Prefixes of variables that trials must not inherit from the coordinator, which may itself run in a job or have a
# user's settings. OMPI_MCA_coll is included because a user's choice of collectives would affect the default and every
# trial.
LEAKING = ("SLURM_", "SBATCH_", "SALLOC_", "SRUN_", "PMI_", "PMIX_", "REPRISE", "OMPI_MCA_coll")
KEPT = ("SLURM_CONF",)

SANITIZER = "ASAN_OPTIONS"
# Option of AddressSanitizer. If it is 1 (the default), a program ends at once if another library is loaded earlier than
# AddressSanitizer's.
LINK_ORDER = "verify_asan_link_order"

ENDED = ("Terminated", "Killed")  # messages that a shell prints about a child that a signal ended
# Prefixes of lines that srun and slurmstepd print. If Slurm was built for multiple slurmds, as in Debian, slurmstepd
# prints the last prefix.
LAUNCHERS = ("srun: ", "slurmstepd: ", "slurmstepd-")
RULER = re.compile(r"^[-=*]{5,}$")

Say = Callable[[str], None]  # function that shows one line on why an executor waits


@dataclass(frozen=True)
class TrialResult:
    """Result of a trial. Unless the state is COMPLETE (the program ended with status 0), `message` gives the cause.

    `nodes` is the number of nodes that the trial ran on; None means the number in its plan.
    """

    state: TrialState
    output: TrialOutput
    slurm_job_id: int | None = None
    message: str = ""
    nodes: int | None = None


@dataclass(frozen=True)
class Begun:
    """Trial that has been started. `key` identifies the trial and its attempt within the campaign."""

    key: str
    plan: TrialPlan
    directory: Path


@dataclass(frozen=True)
class Finished:
    """Key and result of a trial that has ended."""

    key: str
    result: TrialResult


class Executor(Protocol):
    """Interface of executors, which may run several trials at a time.

    Leaving an executor's context stops all running trials and releases all nodes.
    """

    @property
    def waiting(self) -> int:
        """Number of trials that wait for nodes."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """Take over the trials that an earlier coordinator left unfinished, and end those that cannot be kept.

        Call this method once, before any trial is started. Return the keys of the trials that are still running or have
        a result; `poll` returns these trials later. The other trials are lost, and none of their processes is still
        running.
        """

    def start(self, trial: Begun) -> int | None:
        """Start a trial in a new directory, and return its Slurm job's id, or None if it does not have a job yet.

        Raise TunerError if no trial can run at all.
        """

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        """Wait up to `timeout_s` seconds until at least one trial has ended, and return the trials that have ended.

        Raise TunerError if a trial that was started can never run, for a reason outside its program.
        """

    def rest(self) -> Collection[str]:
        """Release unused nodes, and withdraw trials that still wait for nodes; return the withdrawn trials' keys."""

    def preview(self, trial: Begun) -> str:
        """Return, as text for people, the commands that `start` would run; write and submit nothing."""


def prepare(plan: TrialPlan, directory: Path) -> None:
    """Create a trial's directory with the plan's files, replacing an old directory. Raise TunerError on failure."""
    try:
        if directory.exists():
            shutil.rmtree(directory)
        private_files.make_directory(directory)
        for name, text in plan.files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise TunerError(f"{name}: a trial's file must lie in the trial's directory: correct the component")
            private_files.make_directory((directory / path).parent)
            private_files.write_text(directory / path, text)
    except OSError as error:
        raise TunerError(
            f"{directory}: cannot be written ({error.strerror}): free some space there, or set tuner.work to a "
            "directory of the tuning user"
        ) from error


def variables(plan: TrialPlan, directory: Path) -> dict[str, str]:
    """Return the variables that a trial sets; REPRISE=off keeps the plugin from tuning the trial's job.

    A trial with libraries to load also sets ASAN_OPTIONS as the plugin does for jobs, so that programs built with
    AddressSanitizer start.
    """
    planned = {name: value.replace("{directory}", str(directory)) for name, value in plan.environment.items()}
    options = planned.get(SANITIZER, os.environ.get(SANITIZER, ""))
    if plan.preload and LINK_ORDER not in options:
        planned[SANITIZER] = ":".join([*filter(None, [options]), f"{LINK_ORDER}=0"])
    return {**planned, "REPRISE": "off"}


def preloaded(plan: TrialPlan, environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with the plan's libraries appended to LD_PRELOAD."""
    if not plan.preload:
        return dict(environment)
    return {**environment, "LD_PRELOAD": ":".join([*filter(None, [environment.get("LD_PRELOAD")]), *plan.preload])}


def exports(environment: Mapping[str, str]) -> str:
    """Return shell commands that export an environment."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(environment.items()))


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that must not leak into trials and Slurm's commands."""
    return {name: value for name, value in environment.items() if name in KEPT or not name.startswith(LEAKING)}


def host_environment() -> dict[str, str]:
    """Return this process's environment, cleaned for trials and Slurm's commands."""
    return clean(os.environ)


def read_output(directory: Path, exit_status: int, elapsed_s: float) -> TrialOutput:
    """Return a trial's output from the files `stdout` and `stderr` in its directory; a missing file counts as empty."""
    return TrialOutput(exit_status, _read(directory / "stdout"), _read(directory / "stderr"), elapsed_s, directory)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def ended(output: TrialOutput, job_id: int | None = None) -> TrialResult:
    """Return the trial's result for a program that ended by itself."""
    if output.exit_status == 0:
        return TrialResult(TrialState.COMPLETE, output, job_id)
    cause = launch_failures.cause(output.stderr) or last_line(output.stderr) or last_line(output.stdout) or "no output"
    return TrialResult(TrialState.FAILED, output, job_id, f"exit status {output.exit_status}: {cause}")


def timed_out(output: TrialOutput, timeout_s: float, job_id: int | None = None) -> TrialResult:
    """Return the trial's result for a program that was stopped at its time limit of `timeout_s` seconds."""
    return TrialResult(TrialState.TIMEOUT, output, job_id, f"stopped after {timeout_s:g} s")


def last_line(text: str) -> str:
    """Return the last line that the program itself printed, cut to 300 characters.

    After every failure, launchers print lines that do not show the cause. Lines from srun begin with its name, lines
    from mpirun are enclosed by rulers, and a shell prints a single word for a task that is killed because another task
    failed. Such lines are returned only if there are no other lines.
    """
    lines = [line.strip() for line in text.splitlines()]
    ruler = next((index for index, line in enumerate(lines) if RULER.match(line)), len(lines))
    own = [line for line in lines[:ruler] if line and not line.startswith(LAUNCHERS) and line not in ENDED]
    found = own or [line for line in lines if line and not RULER.match(line)]
    return found[-1][:300] if found else ""
