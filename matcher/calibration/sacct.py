# SPDX-License-Identifier: Apache-2.0
"""Jobs out of Slurm's accounting: what COMMAND prints, as far as it tells what a submission would."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from datetime import datetime
from posixpath import basename

from matcher.metadata import JobMetadata
from matcher.submission import JobFacts, Submission, parse

COMMAND = "sacct -aXP -o JobID,User,Account,Partition,NNodes,NTasks,Submit,WorkDir,JobName,SubmitLine"
"""What to run; the last column may hold the separator. Options that say which jobs may follow."""
NEEDED = ("User", "JobName")
SUBMITTING = ("sbatch", "srun", "salloc")


class SacctError(Exception):
    """The text is not what COMMAND prints; the message says in what."""

    exit_status = 1


@dataclasses.dataclass(frozen=True)
class Accounted:
    """`jobs`, and how many lines were of job steps, or could not be read."""

    jobs: tuple[JobMetadata, ...]
    left_out: int


def read(text: str) -> Accounted:
    """The jobs of `sacct --parsable2` (or `--parsable`) with a header. Raises SacctError."""
    lines = text.splitlines()
    columns = lines[0].rstrip("|").split("|") if lines else []
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise SacctError(f"the first line names no column {missing[0]}: give what `{COMMAND}` prints")
    rows = [_row(columns, line) for line in lines[1:] if line.strip()]
    jobs = [_job(row) if row and "." not in row.get("JobID", "") else None for row in rows]
    found = tuple(job for job in jobs if job)
    return Accounted(found, len(jobs) - len(found))


def _row(columns: list[str], line: str) -> dict[str, str] | None:
    values = line.split("|", len(columns) - 1)
    return dict(zip(columns, values, strict=True)) if len(values) == len(columns) else None


def _job(row: Mapping[str, str]) -> JobMetadata | None:
    if not row["User"]:
        return None
    nodes = _number(row, "NNodes") or _number(row, "AllocNodes") or _number(row, "ReqNodes")
    tasks = _number(row, "NTasks")
    told = _submission(row)
    user, at = row["User"], _time(row.get("Submit", ""))
    known = parse(told, user=user, submit_time=at, facts=JobFacts(nodes, tasks)) if told else JobMetadata(user)
    return dataclasses.replace(
        known,
        submit_time=at,
        job_name=row["JobName"],
        nodes=nodes,
        account=row.get("Account", ""),
        partition=row.get("Partition", "").split(",")[0],
        directory=row.get("WorkDir", ""),
    )


def _submission(row: Mapping[str, str]) -> Submission | None:
    """The command that submitted the job; of a batch script nothing but its arguments is known."""
    try:
        words = shlex.split(row.get("SubmitLine", ""))
    except ValueError:
        return None
    if not words or basename(words[0]) not in SUBMITTING:
        return None
    return Submission(basename(words[0]), tuple(words), row.get("WorkDir", ""))


def _number(row: Mapping[str, str], name: str) -> int | None:
    text = row.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) else None


def _time(text: str) -> float:
    """Unix seconds of a time in this host's zone; 0 where there is none."""
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        return 0.0
