# SPDX-License-Identifier: Apache-2.0
"""Interface of all executors, which run trials to their end and return the results."""

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
from reprise.tuner.model import private_files
from reprise.tuner.model.component import TrialOutput, TrialPlan

OUTPUT_LIMIT = 4 * 1024 * 1024  # bytes to read of a trial's output; benchmarks print kilobytes

UNKNOWN = -1  # exit status of a program if only the end of its job is known

# The environment of the coordinator, perhaps a job's or set up by a user, must not leak into the trials.
# OMPI_MCA_coll: a choice of collectives would be measured in the default and in every trial.
LEAKING = ("SLURM_", "SBATCH_", "SALLOC_", "SRUN_", "PMI_", "PMIX_", "REPRISE", "OMPI_MCA_coll")
KEPT = ("SLURM_CONF",)

ENDED = ("Terminated", "Killed")  # messages of a shell about itself
LAUNCHERS = ("srun: ", "slurmstepd: ", "slurmstepd-")  # the last if built for multiple slurmds, as in Debian
RULER = re.compile(r"^[-=*]{5,}$")

Say = Callable[[str], None]  # receives, in one line, the reason why an executor waits


@dataclass(frozen=True)
class TrialResult:
    """Result of a trial. COMPLETE means that the program ended with status 0; otherwise `message` gives the cause.

    `nodes` is the number of nodes that it ran on, None if the plan's number holds.
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
    """Result of the trial with this key."""

    key: str
    result: TrialResult


class Executor(Protocol):
    """Executor of trials, several at the same time. Its exit stops all running trials and releases all nodes."""

    @property
    def waiting(self) -> int:
        """Number of trials that are known to wait for nodes."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """Take over the trials that an earlier coordinator of the campaign left, and end those that cannot be kept.

        Call it once, before anything is started. Return the keys of the trials that still run or have a result: `poll`
        returns them later. The others are lost, and none of them writes or measures any more.
        """

    def start(self, trial: Begun) -> int | None:
        """Start a trial in a new, empty directory, and return the id of its Slurm job if it already has one.

        Raise TunerError if no trial can run at all.
        """

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        """Return the trials that have ended, as soon as one has, or none after `timeout_s`.

        Raise TunerError if a trial that was started can never run, through no fault of its program.
        """

    def rest(self) -> Collection[str]:
        """Release nodes that no trial uses, withdraw trials that still wait for nodes, and return the latter's keys."""

    def preview(self, trial: Begun) -> str:
        """Return readable text of the commands that `start` would run; write and submit nothing."""


def prepare(plan: TrialPlan, directory: Path) -> None:
    """Make the trial's directory, with the plan's files, after removing an old one. Raise TunerError on failure."""
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
    """Return the variables that a trial sets, zeros and empty values included; REPRISE=off keeps it untuned."""
    planned = {name: value.replace("{directory}", str(directory)) for name, value in plan.environment.items()}
    return {**planned, "REPRISE": "off"}


def preloaded(plan: TrialPlan, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the plan's libraries at the end of LD_PRELOAD."""
    if not plan.preload:
        return dict(environment)
    return {**environment, "LD_PRELOAD": ":".join([*filter(None, [environment.get("LD_PRELOAD")]), *plan.preload])}


def exports(environment: Mapping[str, str]) -> str:
    """Return an environment as shell commands."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(environment.items()))


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for trials and Slurm's commands, without settings of the coordinator's job or user."""
    return {name: value for name, value in environment.items() if name in KEPT or not name.startswith(LEAKING)}


def host_environment() -> dict[str, str]:
    """Return this process's environment, cleaned for trials and Slurm's commands."""
    return clean(os.environ)


def read_output(directory: Path, exit_status: int, elapsed_s: float) -> TrialOutput:
    """Return a trial's output from `stdout` and `stderr` in its directory; a missing file counts as empty."""
    return TrialOutput(exit_status, _read(directory / "stdout"), _read(directory / "stderr"), elapsed_s, directory)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def ended(output: TrialOutput, job_id: int | None = None) -> TrialResult:
    """Return the result of a program that ran to its end."""
    if output.exit_status == 0:
        return TrialResult(TrialState.COMPLETE, output, job_id)
    cause = last_line(output.stderr) or last_line(output.stdout) or "no output"
    return TrialResult(TrialState.FAILED, output, job_id, f"exit status {output.exit_status}: {cause}")


def timed_out(output: TrialOutput, timeout_s: float, job_id: int | None = None) -> TrialResult:
    """Return the result of a program that was stopped at its time limit, in seconds."""
    return TrialResult(TrialState.TIMEOUT, output, job_id, f"stopped after {timeout_s:g} s")


def last_line(text: str) -> str:
    """Return the last line that the program itself printed, at most 300 characters.

    After every failure, launchers print lines that do not show the cause: srun's lines begin with its name, mpirun's
    stand between rulers, and tasks that are killed because another one failed print a single word. Such lines are used
    only if there are no others.
    """
    lines = [line.strip() for line in text.splitlines()]
    ruler = next((index for index, line in enumerate(lines) if RULER.match(line)), len(lines))
    own = [line for line in lines[:ruler] if line and not line.startswith(LAUNCHERS) and line not in ENDED]
    found = own or [line for line in lines if line and not RULER.match(line)]
    return found[-1][:300] if found else ""
