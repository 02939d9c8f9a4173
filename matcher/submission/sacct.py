# SPDX-License-Identifier: Apache-2.0
"""Reader that converts jobs in Slurm's accounting, as printed by COMMAND or JSON_COMMAND, to submissions.

The rows contain no batch script, and thus neither the program nor its options. They do not contain the number of tasks,
which Slurm records for job steps only. The submitting command has lost its quotes. Before Slurm 21.08 and in the JSON
of 22.05, the command is missing altogether.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from posixpath import basename
from typing import Any

from reprise.errors import RepriseError
from reprise.matcher.submission import JobFacts, Submission, parse
from reprise.matcher.submission.metadata import LAST_SECOND, JobMetadata

COMMAND = "sacct -aXP -o JobID,User,Account,Partition,NNodes,ElapsedRaw,Submit,WorkDir,JobName,SubmitLine"
"""Command whose output is read; options that select jobs may be appended. Its last column may contain separators."""
JSON_COMMAND = "sacct -aX --json"
NEEDED = ("JobID", "User", "JobName")
SUBMITTING = ("sbatch", "srun", "salloc")

_ROWS = re.compile(r"\n(?=[0-9]+(?:_[^|\n]*|\+[0-9]+)?(?:\.[^|\n]*)?\|)")
"""Pattern of a line end before a job's id, which separates rows; other line ends belong to names or command lines."""
_TASK_OR_PART = re.compile(r"[_+].*")
"""Pattern of a job id's suffix for an array task or a component of a heterogeneous job."""
_WRAP = re.compile(r"\s--wrap[=\s]")


class SacctError(RepriseError):
    """The text is not the output of COMMAND or JSON_COMMAND; the message says why."""


@dataclasses.dataclass(frozen=True)
class Submitted:
    """A submission in accounting, with its number, the job's metadata, the submitting command, and the node-hours.

    `command` has only the words that accounting keeps. `node_hours` is the sum over all tasks of an array, or over all
    components of a heterogeneous job; None if the node-hours of any task or component are unknown.
    """

    number: str
    job: JobMetadata
    command: Submission | None
    node_hours: float | None


@dataclasses.dataclass(frozen=True)
class Accounted:
    """The submissions in accounting, and the number of job rows that could not be read."""

    submitted: tuple[Submitted, ...]
    unreadable: int

    @property
    def jobs(self) -> tuple[JobMetadata, ...]:
        """Metadata of the submitted jobs, one per submission."""
        return tuple(one.job for one in self.submitted)


def read(text: str) -> Accounted:
    """Return the jobs in the output of `sacct --parsable2` (or `--parsable`) with its header, or of `sacct --json`.

    An array or heterogeneous job is one submission, described by its first row. Rows of job steps are ignored. Raises
    SacctError if the text is neither of these outputs.
    """
    rows = _documented(text) if text.lstrip().startswith("{") else _tabled(text)
    submissions: dict[str, Submitted] = {}
    unreadable = 0
    for row in rows:
        if row is None or not row["User"]:
            unreadable += 1
            continue
        number = _TASK_OR_PART.sub("", row["JobID"])
        known = submissions.get(number)
        ran = _node_hours(row)
        if known is None:
            submissions[number] = Submitted(number, _job(row), _submission(row), ran)
        else:
            total = None if known.node_hours is None or ran is None else known.node_hours + ran
            submissions[number] = dataclasses.replace(known, node_hours=total)
    return Accounted(tuple(submissions.values()), unreadable)


def _tabled(text: str) -> Iterator[Mapping[str, str] | None]:
    """Yield each job's row as a mapping from column to value; None for a truncated row."""
    head, _, body = text.replace("\r\n", "\n").partition("\n")
    before, *rows = _ROWS.split("\n" + body.rstrip("\n"))
    end = "|" if head.endswith("|") else ""
    columns = head.removesuffix("|").split("|")
    missing = [name for name in NEEDED if name not in columns]
    if missing or columns[0] != "JobID":
        problem = f"has no column {missing[0]}" if missing else "does not begin with JobID"
        raise SacctError(f"the first line {problem}: use the output of `{COMMAND}`")
    if before.strip():
        yield None
    for text_of_row in rows:
        values = text_of_row.removesuffix(end).split("|", len(columns) - 1)
        if "." not in values[0]:
            yield dict(zip(columns, values, strict=True)) if len(values) == len(columns) else None


def _documented(text: str) -> Iterator[Mapping[str, str] | None]:
    """Yield the jobs of sacct's JSON as mappings from column to value; None for a job without a number."""
    try:
        jobs = json.loads(text)["jobs"]
        if not isinstance(jobs, list):
            raise TypeError("jobs is not a list")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SacctError(f"this is not the JSON of sacct ({error}): use the output of `{JSON_COMMAND}`") from error
    for job in jobs:
        yield _row(job) if isinstance(job, dict) else None


def _row(job: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return a job in sacct's JSON as a mapping from sacct's column names to values; None if the job has no number.

    The JSON follows Slurm's OpenAPI, dbv0.0.37 (Slurm 21.08) to v0.0.42 (24.11). For a task of an array or a component
    of a heterogeneous job, JobID is the id of the submission.
    """
    times = job.get("time")
    numbers = (*(_of(job.get(key), "job_id") for key in ("array", "het")), job.get("job_id"))
    number = next(filter(None, map(_told, numbers)), None)
    if number is None:
        return None
    return {
        "JobID": number,
        "User": _text(job.get("user")),
        "Account": _text(job.get("account")),
        "Partition": _text(job.get("partition")),
        "NNodes": _told(job.get("allocation_nodes")),
        "ElapsedRaw": _told(_of(times, "elapsed"), none="0"),
        "Submit": _told(_of(times, "submission")),
        "WorkDir": _text(job.get("working_directory")),
        "JobName": _text(job.get("name")),
        "SubmitLine": _text(job.get("submit_line")),
    }


def _of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _told(value: Any, none: str = "") -> str:
    """Return a number above 0 as decimal digits; `none` if the value is not such a number.

    Later releases of Slurm write 3 as `{"set": true, "infinite": false, "number": 3}`.
    """
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else None
    return str(value) if isinstance(value, int) and value > 0 else none


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _job(row: Mapping[str, str]) -> JobMetadata:
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
    """Return the command that submitted the job, without its batch script; None if accounting lacks the command.

    Accounting joins the command's words with blanks, without quotes. The value of --wrap is therefore assumed to extend
    to the end of the line.
    """
    line = row.get("SubmitLine", "")
    wrap = _WRAP.search(line)
    words = [*line[: wrap.start()].split(), "--wrap", line[wrap.end() :]] if wrap else line.split()
    if not words or basename(words[0]) not in SUBMITTING:
        return None
    return Submission(basename(words[0]), tuple(words), row.get("WorkDir", ""))


def _node_hours(row: Mapping[str, str]) -> float | None:
    elapsed = row.get("ElapsedRaw", "")
    if not _is_number(elapsed):
        return None
    nodes = _number(row.get("NNodes", ""))
    return int(elapsed) * nodes / 3600 if nodes else None if int(elapsed) else 0.0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 12


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) else None


def _time(text: str) -> float:
    """Return a time in Unix seconds; 0 if it cannot be read.

    The text is a date and time in this host's time zone, or a number of Unix seconds.
    """
    if _is_number(text):
        return float(text) if float(text) < LAST_SECOND else 0.0
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        return 0.0
