# SPDX-License-Identifier: Apache-2.0
"""The jobs that run according to Slurm, from squeue."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reprise.matcher.errors import MatcherError

TIMEOUT_S = 30.0  # three times Slurm's usual MessageTimeout
FIELDS = ("jobid", "userid", "numnodes", "numtasks", "state")
COMMAND = (
    "squeue",
    *("--noheader", "--all", "--local", "--noconvert"),
    "--Format=" + ",".join(f"{field}:20" for field in FIELDS),
)
ALIVE = frozenset(("RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "CONFIGURING"))
"""States of jobs that hold nodes and have not ended; a job in COMPLETING has ended."""
_STATE = re.compile(r"[A-Z_]+")
_OURS = re.compile(r"SQUEUE_|SLURM_CLUSTERS$")  # variables that change what squeue prints


class QueueError(MatcherError):
    """Slurm's queue cannot be read now."""


@dataclass(frozen=True)
class QueuedJob:
    """A job that runs according to Slurm: its user, its compute nodes, and its tasks."""

    uid: int
    nodes: int
    processes: int


@dataclass(frozen=True)
class Listing:
    """All running jobs by id. Jobs that started after `asked_at` (time.monotonic) may be missing."""

    jobs: Mapping[int, QueuedJob]
    asked_at: float


Run = Callable[[Sequence[str]], str]


def ask(run: Run | None = None, clock: Callable[[], float] = time.monotonic) -> Listing:
    """Return the running jobs. Raise QueueError if squeue fails, is too slow, or prints anything unexpected."""
    asked_at = clock()
    return Listing(parsed((run or squeue)(COMMAND)), asked_at)


def parsed(output: str) -> Mapping[int, QueuedJob]:
    """Return the running jobs in squeue's output. Raise QueueError if any line cannot be read.

    A line that cannot be read could be a running job, which would be taken for one that has ended.
    """
    jobs = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) != len(FIELDS) or not _STATE.fullmatch(words[-1]):
            raise QueueError(f"squeue printed an unexpected line ({line.strip()[:80]!r}): report this with its release")
        if words[-1] in ALIVE:
            if not all(word.isascii() and word.isdecimal() for word in words[:-1]):
                raise QueueError(f"squeue printed an unexpected line ({line.strip()[:80]!r}): report this")
            job, uid, nodes, tasks = map(int, words[:-1])
            jobs[job] = QueuedJob(uid, max(1, nodes), max(1, tasks))
    return jobs


def squeue(command: Sequence[str]) -> str:
    """Run squeue and return its output. Raise QueueError if it fails."""
    environment = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise QueueError(f"squeue did not answer within {TIMEOUT_S:.0f} s: check slurmctld") from error
    except OSError as error:
        raise QueueError(f"squeue cannot be run ({error.strerror}): install Slurm's commands on this host") from error
    if done.returncode != 0:
        raise QueueError(f"squeue failed ({' '.join(done.stderr.split())[:200]}): check slurmctld")
    return done.stdout
