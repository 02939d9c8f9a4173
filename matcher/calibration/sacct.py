# SPDX-License-Identifier: Apache-2.0
"""Jobs out of Slurm's accounting: what COMMAND prints, as far as it tells what a submission would.

It does not tell the batch script, and so neither the program nor its options; nor the tasks, which it knows of job
steps only; and the submitting command's words without their quotes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from datetime import datetime
from posixpath import basename

from matcher.metadata import JobMetadata
from matcher.submission import JobFacts, Submission, parse

COMMAND = "sacct -aXP -o JobID,User,Account,Partition,NNodes,Submit,WorkDir,JobName,SubmitLine"
"""What to run; the last column may hold the separator. Options that say which jobs may follow."""
NEEDED = ("JobID", "User", "JobName")
SUBMITTING = ("sbatch", "srun", "salloc")

_ROWS = re.compile(r"\n(?=[0-9]+(?:_[^|\n]*|\+[0-9]+)?(?:\.[^|\n]*)?\|)")
"""Before a job's id; names and command lines may hold line ends."""
_TASK_OR_PART = re.compile(r"[_+].*")
"""What an array's task and a heterogeneous job's part have behind the number of what was submitted."""
_WRAP = re.compile(r"\s--wrap[=\s]")


class SacctError(Exception):
    """The text is not what COMMAND prints; the message says in what."""

    exit_status = 1


@dataclasses.dataclass(frozen=True)
class Accounted:
    """`jobs`, one for each submission, and how many rows of jobs could not be read."""

    jobs: tuple[JobMetadata, ...]
    unreadable: int


def read(text: str) -> Accounted:
    """The jobs of `sacct --parsable2` (or `--parsable`) with a header. Raises SacctError.

    Of an array, and of a heterogeneous job, the first counts: they were submitted once. Steps do not count.
    """
    head, _, body = text.replace("\r\n", "\n").partition("\n")
    before, *rows = _ROWS.split("\n" + body.rstrip("\n"))
    end = "|" if head.endswith("|") else ""
    columns = head.removesuffix("|").split("|")
    missing = [name for name in NEEDED if name not in columns]
    if missing or columns[0] != "JobID":
        told = f"names no column {missing[0]}" if missing else "does not begin with JobID"
        raise SacctError(f"the first line {told}: give what `{COMMAND}` prints")
    submissions: dict[str, JobMetadata] = {}
    unreadable = 1 if before.strip() else 0
    for text_of_row in rows:
        values = text_of_row.removesuffix(end).split("|", len(columns) - 1)
        number = values[0]
        if "." in number:
            continue
        job = _job(dict(zip(columns, values, strict=True))) if len(values) == len(columns) else None
        if job:
            submissions.setdefault(_TASK_OR_PART.sub("", number), job)
        else:
            unreadable += 1
    return Accounted(tuple(submissions.values()), unreadable)


def _job(row: Mapping[str, str]) -> JobMetadata | None:
    if not row["User"]:
        return None
    nodes = _number(row.get("NNodes", ""))
    told = _submission(row)
    user, at = row["User"], _time(row.get("Submit", ""))
    known = parse(told, user=user, submit_time=at, facts=JobFacts(nodes)) if told else JobMetadata(user)
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
    """The command that submitted the job; of a batch script nothing but its arguments is known.

    Its words are joined by blanks, without quotes. What is wrapped is taken to reach to the end.
    """
    line = row.get("SubmitLine", "")
    wrap = _WRAP.search(line)
    words = [*line[: wrap.start()].split(), "--wrap", line[wrap.end() :]] if wrap else line.split()
    if not words or basename(words[0]) not in SUBMITTING:
        return None
    return Submission(basename(words[0]), tuple(words), row.get("WorkDir", ""))


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) else None


def _time(text: str) -> float:
    """Unix seconds of a time in this host's zone; 0 where there is none."""
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        return 0.0
