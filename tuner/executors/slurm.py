# SPDX-License-Identifier: Apache-2.0
"""Slurm's commands as the executors need them: submit, look at, cancel. Tolerates a controller that hiccups."""

from __future__ import annotations

import logging
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tuner.errors import TunerError
from tuner.executors.base import host_environment

log = logging.getLogger(__name__)

COMMAND_TIMEOUT_S = 60.0  # Slurm's own message timeout is 10 s by default, and its commands try again
PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # between tries: outlasts a restart of slurmctld

WAITING = frozenset(
    ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
)
ACTIVE = frozenset(("RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT", "COMPLETING"))
PREEMPTED = frozenset(("PREEMPTED",))
TIMED_OUT = frozenset(("TIMEOUT", "DEADLINE"))
CANCELLED = frozenset(("CANCELLED", "NODE_FAIL", "BOOT_FAIL", "REVOKED"))  # from outside: the trial is not to blame

# Reasons of a waiting job that no waiting cures: a limit of the partition, the account or the job itself is too small.
HOPELESS = re.compile(r"Partition(Config|NodeLimit|TimeLimit)|BadConstraints|\w+PerJob(Limit)?|(Account|QOS)NotAllowed")

# What srun and mpirun, which starts its daemons with srun, say where slurmctld did not answer.
UNREACHABLE = re.compile(
    r"^(?:srun: error: .*(?:slurm controller|Socket timed out|Zero Bytes were transmitted).*"
    r"|An ORTE daemon has unexpectedly failed after launch and before)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Job:
    """What Slurm says of a job. `nodes` is a node list as Slurm writes it, empty while it waits."""

    state: str
    reason: str = ""
    nodes: str = ""

    def waits(self, job_id: int, nodes: int) -> str:
        """What a waiting job waits for, in a line for a person. Raises SlurmError where it waits in vain."""
        what = "a node" if nodes == 1 else f"{nodes} nodes"
        if HOPELESS.fullmatch(self.reason):
            raise SlurmError(
                f"job {job_id} for {what} can never start ({self.reason}): start a new campaign with fewer nodes, less "
                "time or another partition, or raise that limit and resume"
            )
        return f"job {job_id} waits for {what} ({self.reason or self.state})"


class SlurmError(TunerError):
    """Slurm does not do what was asked, however often."""


class Slurm(Protocol):
    """The part of Slurm that the executors use."""

    def submit(self, options: Sequence[str]) -> int:
        """`sbatch OPTIONS...`; returns the job id. Raises SlurmError where it is refused."""

    def job(self, job_id: int) -> Job | None:
        """A job's state; None where Slurm does not know the job (any more). Raises SlurmError."""

    def named(self, name: str) -> Sequence[int]:
        """Ids of this user's unfinished jobs of this name. Raises SlurmError."""

    def cancel(self, job_ids: Iterable[int]) -> None:
        """Cancel jobs; those that have ended are no error."""


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    status: int
    stdout: str
    stderr: str


T = TypeVar("T")
Run = Callable[[Sequence[str], Mapping[str, str]], Answer]


def run_command(argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
    """Run one of Slurm's commands. Hanging is a failure like any other; one that is missing raises SlurmError."""
    try:
        done = subprocess.run(
            list(argv),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(-1, "", f"no answer within {COMMAND_TIMEOUT_S:.0f} s")
    except OSError as error:
        raise SlurmError(
            f"{argv[0]}: cannot be run ({error.strerror}): run this on a host with Slurm's commands on PATH"
        ) from error
    return Answer(done.returncode, done.stdout, done.stderr)


class SlurmCommands:
    """Slurm through sbatch, scontrol, squeue and scancel."""

    def __init__(self, run: Run = run_command, sleep: Callable[[float], None] = time.sleep) -> None:
        self._run = run
        self._sleep = sleep

    def submit(self, options: Sequence[str]) -> int:
        # Not tried again: a submission that seemed to fail may have worked.
        answer = self._call(["sbatch", "--parsable", *options], REPRISE="off")
        match = re.search(r"^(\d+)(;.*)?$", answer.stdout, re.MULTILINE)
        if answer.status or not match:
            raise SlurmError(
                f"sbatch refused a job: {_words(answer)}: check partition, account, ... of the campaign's executor"
            )
        return int(match[1])

    def job(self, job_id: int) -> Job | None:
        def understand(answer: Answer) -> tuple[Job | None] | None:
            if "Invalid job id" in answer.stderr:
                return (None,)
            fields = dict(re.findall(r"(?:^| )(JobState|Reason|NodeList)=(\S+)", answer.stdout))
            if answer.status or "JobState" not in fields:
                return None
            values = {key: "" if value in ("None", "(null)") else value for key, value in fields.items()}
            return (Job(values["JobState"], values.get("Reason", ""), values.get("NodeList", "")),)

        return self._ask(["scontrol", "--oneliner", "show", "job", str(job_id)], understand)[0]

    def named(self, name: str) -> Sequence[int]:
        def understand(answer: Answer) -> list[int] | None:
            words = answer.stdout.split()
            return None if answer.status or not all(word.isdigit() for word in words) else [int(word) for word in words]

        return self._ask(["squeue", "--me", f"--name={name}", "--noheader", "--format=%A"], understand)

    def cancel(self, job_ids: Iterable[int]) -> None:
        ids = [str(job_id) for job_id in job_ids]
        if ids:
            answer = self._call(["scancel", *ids])
            if answer.status:
                log.warning("scancel %s: %s", " ".join(ids), _words(answer))

    def _ask(self, argv: Sequence[str], understand: Callable[[Answer], T | None]) -> T:
        """Run a command until its answer can be understood; raises SlurmError when that does not happen."""
        for pause in (*PAUSES_S, None):
            answer = self._call(argv)
            understood = understand(answer)
            if understood is not None:
                return understood
            if pause is not None:
                log.info("%s: %s; trying again in %g s", argv[0], _words(answer), pause)
                self._sleep(pause)
        raise SlurmError(
            f"{argv[0]} does not answer ({_words(answer)}): check with `scontrol ping`, then resume the campaign"
        )

    def _call(self, argv: Sequence[str], **variables: str) -> Answer:
        return self._run(argv, {**host_environment(), **variables})


def _words(answer: Answer) -> str:
    lines = (answer.stderr.strip() or answer.stdout.strip() or f"exit status {answer.status}").splitlines()
    return "; ".join(re.sub(r"^\w+: error: ", "", line.strip()) for line in lines)[:300]


def not_started(stderr: str) -> str:
    """Why a step never began, through no fault of its program; empty where it did begin."""
    if told := UNREACHABLE.search(stderr):
        return told[0]
    if "step creation temporarily disabled" in stderr and "Step created" not in stderr:
        return "its nodes did not come free for it"
    return ""


def clear(slurm: Slurm, name: str, sleep: Callable[[float], None], timeout_s: float = 120.0) -> None:
    """Cancel this user's jobs of this name and wait until they are gone, so that none writes or measures any more."""
    waited = 0.0
    while leftover := slurm.named(name):
        if waited == 0:
            slurm.cancel(leftover)
        if waited >= timeout_s:
            raise SlurmError(
                f"job {leftover[0]} of an earlier run does not end: cancel it with `scancel --full {leftover[0]}`"
            )
        sleep(0.2)
        waited += 0.2
