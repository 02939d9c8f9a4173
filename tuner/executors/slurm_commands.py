# SPDX-License-Identifier: Apache-2.0
"""Submit, query and cancel Slurm jobs through Slurm's commands, with retries if the controller does not answer."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from reprise.tuner.errors import TunerError
from reprise.tuner.executors.executor import host_environment

log = logging.getLogger(__name__)

# Time limit of each of Slurm's commands, in seconds. It is several times Slurm's message timeout (10 s by default),
# because a command may send its message several times.
COMMAND_TIMEOUT_S = 60.0
# Seconds between tries. Their sum exceeds the time that slurmctld takes to restart.
PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

WAITING = frozenset(
    ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
)
# States in which a job's processes do not run, although the job's run time continues to grow.
SUSPENDED = frozenset(("SUSPENDED", "STOPPED"))
ACTIVE = SUSPENDED | {"RUNNING", "SIGNALING", "RESIZING", "STAGE_OUT", "COMPLETING"}
PREEMPTED = frozenset(("PREEMPTED",))
TIMED_OUT = frozenset(("TIMEOUT", "DEADLINE"))
# States of jobs that were ended by something other than their trial.
CANCELLED = frozenset(("CANCELLED", "NODE_FAIL", "BOOT_FAIL", "REVOKED"))

# Reasons that Slurm gives for pending jobs that can never start because they exceed a limit of the partition, the
# account or the job.
HOPELESS = re.compile(r"Partition(Config|NodeLimit|TimeLimit)|BadConstraints|\w+PerJob(Limit)?|(Account|QOS)NotAllowed")

# Reasons that Slurm gives for pending jobs that would start now if more nodes were free.
FOR_NODES = frozenset(("Resources", "Priority", "ReqNodeNotAvail"))

# Error messages after which sbatch may nevertheless have submitted the job, or may do so a little later.
UNCLEAR = re.compile(
    r"slurm controller|timed out|Zero Bytes|no answer|temporarily unable|Transport endpoint|communication|Unexpected "
    r"message|[Cc]onnection|Interrupted"
)

# Line of squeue's output with id, state, reason, nodes, run time as [[days-]hours:]minutes:seconds, and comment.
LISTED = re.compile(
    r"(?P<id>\d+)\|(?P<state>[A-Z_]+)\|(?P<reason>[^|]*)\|(?P<nodes>\d+)\|"
    r"(?:(?:(?:(?P<d>\d+)-)?(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+)|INVALID)\|(?P<comment>.*)"
)

CLEARED_S = 120.0  # maximum time in seconds to wait for the end of cancelled jobs
CANCEL_AGAIN_S = 30.0

# Messages in a step's standard error if slurmctld does not answer: those of srun, and the message of mpirun, which
# starts its daemons with srun.
UNREACHABLE = re.compile(
    r"^(?:srun: error: .*(?:slurm controller|Socket timed out|Zero Bytes were transmitted).*"
    r"|An ORTE daemon has unexpectedly failed after launch and before)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Job:
    """State of a job as Slurm reports it.

    `node_list` is in Slurm's notation; it is empty while the job is pending. `run_s` is the job's run time so far in
    seconds, or None if the run time was not queried. `comment` is the comment with which the job was submitted.
    """

    id: int
    state: str
    reason: str = ""
    node_list: str = ""
    nodes: int = 0
    run_s: float | None = None
    comment: str = ""

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state not in WAITING | ACTIVE

    def waits(self, nodes: int) -> str:
        """Return a line on why a job that needs `nodes` nodes is pending. Raise SlurmError if it can never start."""
        what = "a node" if nodes == 1 else f"{nodes} nodes"
        if HOPELESS.fullmatch(self.reason):
            raise SlurmError(
                f"job {self.id} for {what} can never start ({self.reason}): start a new campaign with fewer nodes, "
                "less time or another partition, or raise that limit and resume"
            )
        return f"job {self.id} waits for {what} ({self.reason or self.state})"


class SlurmError(TunerError):
    """A request to Slurm failed, even after retries."""


class UnclearError(SlurmError):
    """Slurm's answer does not show whether a job was submitted."""


class Slurm(Protocol):
    """Interface to Slurm, as far as the executors need it."""

    def submit(self, options: Sequence[str]) -> int:
        """Run `sbatch OPTIONS...` and return the job's id.

        Raise SlurmError if the job is refused, and UnclearError if it is unclear whether the job was accepted.
        """

    def job(self, job_id: int) -> Job | None:
        """Return a job's state; None if Slurm does not know the job, or no longer does. Raise SlurmError on failure."""

    def jobs(self, name: str) -> Sequence[Job]:
        """Return this user's jobs with this name, including jobs that ended recently. Raise SlurmError on failure."""

    def others_wait(self, partition: str | None) -> bool:
        """Return whether other users' jobs wait for nodes in a partition (None: any). Raise SlurmError on failure."""

    def cancel(self, job_ids: Iterable[int]) -> None:
        """Cancel jobs; ignore jobs that have already ended."""


@dataclass(frozen=True)
class Answer:
    """Exit status and output of a command."""

    status: int
    stdout: str
    stderr: str


T = TypeVar("T")
Run = Callable[[Sequence[str], Mapping[str, str]], Answer]


def run_command(argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
    """Run one of Slurm's commands; a timeout gives an Answer with status -1.

    Raise SlurmError if the command cannot be run.
    """
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
    """Implementation of `Slurm` with the commands sbatch, scontrol, squeue and scancel."""

    def __init__(self, run: Run = run_command, sleep: Callable[[float], None] = time.sleep) -> None:
        self._run = run
        self._sleep = sleep

    def submit(self, options: Sequence[str]) -> int:
        """Submit a job with `sbatch --parsable`, with Reprise switched off for the job, and return the job's id."""
        answer = self._call(["sbatch", "--parsable", *options], REPRISE="off")
        match = re.search(r"^(\d+)(;.*)?$", answer.stdout, re.MULTILINE)
        if match and not answer.status:
            return int(match[1])
        if not answer.status or not answer.stderr.strip() or UNCLEAR.search(answer.stderr):
            raise UnclearError(
                f"sbatch does not answer ({_words(answer)}): check with `scontrol ping`, then resume the campaign"
            )
        raise SlurmError(
            f"sbatch refused a job: {_words(answer)}: check partition, account and options of the campaign's executor"
        )

    def knows_option(self, name: str) -> bool:
        """Return whether sbatch or one of its plugins has the option `--NAME`; True if `sbatch --help` fails."""
        answer = self._call(["sbatch", "--help"])
        return bool(answer.status) or re.search(rf"--{re.escape(name)}(?![\w-])", answer.stdout) is not None

    def job(self, job_id: int) -> Job | None:
        """Return a job's state from scontrol, without the run time and the comment."""

        def understand(answer: Answer) -> tuple[Job | None] | None:
            if "Invalid job id" in answer.stderr:
                return (None,)
            fields = dict(re.findall(r"(?:^| )(JobState|Reason|NodeList)=(\S+)", answer.stdout))
            if answer.status or "JobState" not in fields:
                return None
            values = {key: "" if value in ("None", "(null)") else value for key, value in fields.items()}
            return (Job(job_id, values["JobState"], values.get("Reason", ""), values.get("NodeList", "")),)

        return self._ask(["scontrol", "--oneliner", "show", "job", str(job_id)], understand)[0]

    def jobs(self, name: str) -> Sequence[Job]:
        """Return this user's jobs with this name, as listed by squeue."""

        def understand(answer: Answer) -> list[Job] | None:
            found = [LISTED.fullmatch(line.strip()) for line in answer.stdout.splitlines() if line.strip()]
            return None if answer.status or not all(found) else [_listed(match) for match in found if match]

        argv = ["squeue", "--me", f"--name={name}", "--states=all", "--noheader", "--format=%A|%T|%r|%D|%M|%k"]
        return self._ask(argv, understand)

    def others_wait(self, partition: str | None) -> bool:
        """Return whether squeue lists other users' jobs that wait for nodes."""

        def understand(answer: Answer) -> list[bool] | None:
            rows = [line.strip().split("|") for line in answer.stdout.splitlines() if line.strip()]
            if answer.status or any(len(row) != 2 or not row[0].isdigit() for row in rows):
                return None
            return [int(uid) != os.getuid() and reason in FOR_NODES for uid, reason in rows]

        where = [f"--partition={partition}"] if partition else []
        return any(self._ask(["squeue", "--states=PENDING", *where, "--noheader", "--format=%U|%r"], understand))

    def cancel(self, job_ids: Iterable[int]) -> None:
        """Cancel jobs with scancel, trying up to four times; failures are only logged, as warnings."""
        ids = [str(job_id) for job_id in job_ids]
        for pause in (*PAUSES_S[:3], None) if ids else ():
            answer = self._call(["scancel", *ids])
            if not answer.status or "Invalid job id" in answer.stderr:
                return
            log.warning("scancel %s: %s", " ".join(ids), _words(answer))
            if pause is not None:
                self._sleep(pause)

    def _ask(self, argv: Sequence[str], understand: Callable[[Answer], T | None]) -> T:
        """Run a command repeatedly until its output can be parsed. Raise SlurmError if all tries fail."""
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
    """Return the reason why a step did not start, from srun's standard error; "" if the step started."""
    if found := UNREACHABLE.search(stderr):
        return found[0]
    if "step creation temporarily disabled" in stderr and "Step created" not in stderr:
        return "its nodes did not become free"
    return ""


def submit_once(slurm: Slurm, name: str, comment: str, options: Sequence[str], sleep: Callable[[float], None]) -> int:
    """Submit a job with a comment that is unique among the jobs with this name, and return the job's id.

    A submission that seems to fail may still have succeeded, so the job is searched for before it is submitted again.
    Raise SlurmError if all tries fail.
    """
    words = [f"--job-name={name}", f"--comment={comment}", *options]
    for pause in (*PAUSES_S, None):
        try:
            return slurm.submit(words)
        except UnclearError as error:
            if pause is None:
                raise
            log.info("%s; checking in %g s whether it was submitted", error, pause)
            sleep(pause)
            for job in slurm.jobs(name):
                if job.comment == comment:
                    return job.id
    raise AssertionError("the last try returns or raises")


def clear(slurm: Slurm, name: str, keep: Collection[int], sleep: Callable[[float], None]) -> None:
    """Cancel this user's jobs with this name except those in `keep`, and wait until the cancelled jobs have ended.

    Raise SlurmError if a job does not end within CLEARED_S seconds.
    """
    waited = 0.0
    while left := [job.id for job in slurm.jobs(name) if not job.over and job.id not in keep]:
        if waited % CANCEL_AGAIN_S == 0:
            slurm.cancel(left)
        if waited >= CLEARED_S:
            raise SlurmError(f"job {left[0]} of an earlier run does not end: cancel it with `scancel --full {left[0]}`")
        sleep(1.0)
        waited += 1.0


def _listed(match: re.Match[str]) -> Job:
    days, hours, minutes, seconds = (int(match[unit] or 0) for unit in ("d", "h", "m", "s"))
    run_s = float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    comment = "" if match["comment"] == "(null)" else match["comment"]
    reason = "" if match["reason"] == "None" else match["reason"]
    return Job(int(match["id"]), match["state"], reason, "", int(match["nodes"]), run_s, comment)
