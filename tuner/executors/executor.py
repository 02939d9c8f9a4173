# SPDX-License-Identifier: Apache-2.0
"""What every executor is: something that runs a trial to its end and says what became of it."""

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

OUTPUT_LIMIT = 4 * 1024 * 1024  # bytes of a trial's output that are read; benchmarks print kilobytes

UNKNOWN = -1  # exit status of a program of which only its job's end is known

# A coordinator that itself runs in a job, or that a user has set up, must not leak into the trials.
# OMPI_MCA_coll: a choice of collectives of its own would be measured, as default and as trial alike.
LEAKING = ("SLURM_", "SBATCH_", "SALLOC_", "SRUN_", "PMI_", "PMIX_", "REPRISE", "OMPI_MCA_coll")
KEPT = ("SLURM_CONF",)

ENDED = ("Terminated", "Killed")  # what a shell says of itself
LAUNCHERS = ("srun: ", "slurmstepd: ", "slurmstepd-")  # the last where multiple slurmds are built in, as in Debian
RULER = re.compile(r"^[-=*]{5,}$")

Say = Callable[[str], None]  # told, in one line, what an executor waits for


@dataclass(frozen=True)
class TrialResult:
    """How a trial ended. COMPLETE: the program ended with status 0. `message` says why where it did not.

    `nodes` are those it ran on, where that is not for its plan to say.
    """

    state: TrialState
    output: TrialOutput
    slurm_job_id: int | None = None
    message: str = ""
    nodes: int | None = None


@dataclass(frozen=True)
class Begun:
    """A trial that is under way. `key` tells it, and which attempt of it, from all others of its campaign."""

    key: str
    plan: TrialPlan
    directory: Path


@dataclass(frozen=True)
class Finished:
    """What became of the trial with this key."""

    key: str
    result: TrialResult


class Executor(Protocol):
    """Runs trials, several at once. Leaving it releases everything; what still runs is stopped then."""

    @property
    def waiting(self) -> int:
        """How many trials wait for nodes, as far as is known."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """Take over what an earlier coordinator of the campaign left under way, and clear away the rest of it.

        Called once, before anything is started. Returns the keys of the trials that go on, or whose result is there:
        `poll` tells of them. The others are lost, and none of them writes or measures any more.
        """

    def start(self, trial: Begun) -> int | None:
        """Start a trial, in a directory that this makes anew; returns its Slurm job's id where it has one by now.

        Raises TunerError where no trial can run at all.
        """

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        """What ended, as soon as something did, or nothing after `timeout_s`.

        Raises TunerError where nothing will come of a trial that was started, through no fault of its own.
        """

    def rest(self) -> Collection[str]:
        """Give back nodes that no trial uses, and withdraw trials that still wait for theirs; returns their keys."""

    def preview(self, trial: Begun) -> str:
        """What `start` would run, as a person reads it; nothing is written or submitted."""


def prepare(plan: TrialPlan, directory: Path) -> None:
    """Make the trial's directory anew, with the plan's files. Raises TunerError."""
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
            f"{directory}: cannot be written ({error.strerror}): make room there, or make tuner.work a directory of "
            "the user who tunes"
        ) from error


def variables(plan: TrialPlan, directory: Path) -> dict[str, str]:
    """The variables that a trial sets, zeros and empty values included. Trials are never tuned themselves."""
    planned = {name: value.replace("{directory}", str(directory)) for name, value in plan.environment.items()}
    return {**planned, "REPRISE": "off"}


def preloaded(plan: TrialPlan, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the plan's libraries at the end of LD_PRELOAD."""
    if not plan.preload:
        return dict(environment)
    return {**environment, "LD_PRELOAD": ":".join([*filter(None, [environment.get("LD_PRELOAD")]), *plan.preload])}


def exports(environment: Mapping[str, str]) -> str:
    """An environment as lines of shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(environment.items()))


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for trials and for Slurm's commands, without what Slurm or a user said to the coordinator."""
    return {name: value for name, value in environment.items() if name in KEPT or not name.startswith(LEAKING)}


def host_environment() -> dict[str, str]:
    return clean(os.environ)


def read_output(directory: Path, exit_status: int, elapsed_s: float) -> TrialOutput:
    """What a trial wrote to `stdout` and `stderr` in its directory; missing files are empty."""
    return TrialOutput(exit_status, _read(directory / "stdout"), _read(directory / "stderr"), elapsed_s, directory)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def ended(output: TrialOutput, job_id: int | None = None) -> TrialResult:
    """The result of a program that ran to its end."""
    if output.exit_status == 0:
        return TrialResult(TrialState.COMPLETE, output, job_id)
    said = last_line(output.stderr) or last_line(output.stdout) or "it said nothing"
    return TrialResult(TrialState.FAILED, output, job_id, f"exit status {output.exit_status}: {said}")


def timed_out(output: TrialOutput, timeout_s: float, job_id: int | None = None) -> TrialResult:
    return TrialResult(TrialState.TIMEOUT, output, job_id, f"was stopped after {timeout_s:g} s")


def last_line(text: str) -> str:
    """The last line, at most 300 characters, in which the program says something.

    Launchers have the last word on every failure, and it is no cause: srun's lines begin with its name, mpirun's stand
    between rulers; and tasks that are ended since another one failed say so by a word. They count only where there is
    nothing else.
    """
    lines = [line.strip() for line in text.splitlines()]
    ruler = next((index for index, line in enumerate(lines) if RULER.match(line)), len(lines))
    own = [line for line in lines[:ruler] if line and not line.startswith(LAUNCHERS) and line not in ENDED]
    said = own or [line for line in lines if line and not RULER.match(line)]
    return said[-1][:300] if said else ""
