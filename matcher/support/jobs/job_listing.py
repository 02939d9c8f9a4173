# SPDX-License-Identifier: Apache-2.0
"""Lists of jobs, as table rows and as JSON, in which only staff can see other users' names and programs."""

from __future__ import annotations

import pwd
from collections.abc import Sequence
from typing import Any

from reprise.database.entities import ListedJob
from reprise.matcher.support.explanation import HIDDEN, exit_text, when
from reprise.matcher.support.staff import Reader

JSON_VERSION = 1
UNKNOWN = "unknown"
HEADINGS = ("job", "user", "program", "when", "verdict", "record", "score", "elapsed", "exit status")


def row(job: ListedJob, reader: Reader, cluster: str) -> tuple[str, ...]:
    """Return a job's cells for the columns HEADINGS; the job's cluster is shown if it is not `cluster`."""
    return (
        _number(job, cluster),
        user_of(job) if reader.sees(job.uid) else HIDDEN,
        (job.program or UNKNOWN) if reader.sees(job.uid) else HIDDEN,
        when(job.at),
        job.verdict,
        "" if job.record_id is None else str(job.record_id),
        "" if job.score is None or not reader.staff else f"{job.score:.4f}",
        "" if job.elapsed_s is None else f"{job.elapsed_s:.1f} s",
        "" if job.exit_status is None else exit_text(job.exit_status).removeprefix("exit status "),
    )


def document(jobs: Sequence[ListedJob], reader: Reader, own_only: bool) -> dict[str, Any]:
    """Return the list as JSON-ready data; `own_only` is True if only the user's own jobs were searched.

    Within a version, keys are only added.
    """
    return {"version": JSON_VERSION, "own_only": own_only, "jobs": [_json(job, reader) for job in jobs]}


def user_of(job: ListedJob) -> str:
    """Return the name of a job's user, or the user's id if the name is unknown."""
    try:
        return job.user or pwd.getpwuid(job.uid).pw_name
    except KeyError:
        return str(job.uid)


def _number(job: ListedJob, cluster: str) -> str:
    task = "" if job.array_task is None else f" task {job.array_task}"
    where = "" if job.cluster == cluster else f" on {job.cluster}"
    return f"{'-' if job.job_id is None else job.job_id}{task}{where}"


def _json(job: ListedJob, reader: Reader) -> dict[str, Any]:
    seen = reader.sees(job.uid)
    return {
        "job": job.job_id,
        "array_task": job.array_task,
        "cluster": job.cluster,
        "user": user_of(job) if seen else None,
        "uid": job.uid if seen else None,
        "program": job.program if seen else None,
        "at": job.at,
        "verdict": job.verdict,
        "record": job.record_id,
        "score": job.score if reader.staff else None,
        "elapsed_s": job.elapsed_s,
        "exit_status": job.exit_status,
        "decision": job.decision_id,
        "hidden": not seen,
    }
