# SPDX-License-Identifier: Apache-2.0
"""Lists of jobs, as table rows and as JSON, in which only staff can see other users' names and programs."""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reprise.database.entities import ListedJob
from reprise.database.for_support import SupportDatabase
from reprise.matcher.decision.refusal import why_none
from reprise.matcher.support.explanation import HIDDEN, exit_text, when
from reprise.matcher.support.staff import Reader

JSON_VERSION = 1
UNKNOWN = "unknown"
HEADINGS = ("job", "user", "program", "when", "verdict", "record", "score", "elapsed", "exit status", "why none")
OF_CAMPAIGNS = ("job", "campaign", "user", "when", "elapsed", "ended with")


@dataclass(frozen=True)
class Origins:
    """Campaigns that ran trials in listed jobs, by job id, and arrays that have listed jobs as tasks.

    The ids of arrays are by decision, user id and cluster.
    """

    campaigns: Mapping[int, int] = field(default_factory=dict)
    arrays: Mapping[tuple[str, int, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, database: SupportDatabase, jobs: Sequence[ListedJob], cluster: str) -> Origins:
        """Read it for these jobs; campaigns run on `cluster`."""
        trials = [job.job_id for job in jobs if job.job_id is not None and job.verdict == "off"]
        tasks = [job.decision_id for job in jobs if job.array_task is not None and job.decision_id is not None]
        here = {job.job_id for job in jobs if job.cluster == cluster}
        campaigns = {job_id: one for job_id, one in database.campaigns_of_jobs(trials).items() if job_id in here}
        return cls(campaigns, database.arrays_of_decisions(tasks))

    def array(self, job: ListedJob) -> int | None:
        """Return the id of the array that a job is a task of, None if unknown."""
        return self.arrays.get((job.decision_id or "", job.uid, job.cluster))

    def campaign(self, job: ListedJob) -> int | None:
        """Return the id of the campaign that ran trials in the job, None if there is none."""
        return self.campaigns.get(job.job_id) if job.job_id is not None and job.verdict == "off" else None


ALONE = Origins()


def row(job: ListedJob, reader: Reader, cluster: str, origins: Origins = ALONE) -> tuple[str, ...]:
    """Return a job's cells for the columns HEADINGS; the job's cluster is shown if it is not `cluster`."""
    return (
        _number(job, cluster, origins),
        user_of(job) if reader.sees(job.uid) else HIDDEN,
        (job.program or UNKNOWN) if reader.sees(job.uid) else HIDDEN,
        when(job.at),
        job.verdict,
        "" if job.record_id is None else str(job.record_id),
        "" if job.score is None or not reader.staff else f"{job.score:.4f}",
        _elapsed(job),
        "" if job.exit_status is None else exit_text(job.exit_status).removeprefix("exit status "),
        (why(job) or "") if reader.sees(job.uid) else HIDDEN if why(job) else "",
    )


def campaign_row(job: ListedJob, reader: Reader, cluster: str, origins: Origins) -> tuple[str, ...]:
    """Return the cells, for the columns OF_CAMPAIGNS, of a job in which a campaign ran trials."""
    return (
        _number(job, cluster, origins),
        str(origins.campaign(job) or ""),
        user_of(job) if reader.sees(job.uid) else HIDDEN,
        when(job.at),
        _elapsed(job),
        _campaigns_end(job.exit_status),
    )


def why(job: ListedJob) -> str | None:
    """Return the kind of the reason why a job got no settings; None if there is another verdict than `none`."""
    return why_none(job.reason) if job.verdict == "none" and job.decision_id is not None else None


def document(jobs: Sequence[ListedJob], reader: Reader, own_only: bool, origins: Origins = ALONE) -> dict[str, Any]:
    """Return the list as JSON-ready data; `own_only` is True if only the user's own jobs were searched.

    Within a version, keys are only added.
    """
    return {"version": JSON_VERSION, "own_only": own_only, "jobs": [_json(job, reader, origins) for job in jobs]}


def user_of(job: ListedJob) -> str:
    """Return the name of a job's user, or the user's id if the name is unknown."""
    try:
        return job.user or pwd.getpwuid(job.uid).pw_name
    except KeyError:
        return str(job.uid)


def _elapsed(job: ListedJob) -> str:
    return "" if job.elapsed_s is None else f"{job.elapsed_s:.1f} s"


def _campaigns_end(status: int | None) -> str:
    """Return how a campaign's job ended. Campaigns end the jobs that hold their nodes with SIGTERM (scancel)."""
    if status is None:
        return ""
    in_order = status == 0 or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM)
    return "its campaign, in order" if in_order else exit_text(status)


def _number(job: ListedJob, cluster: str, origins: Origins) -> str:
    """Return a job's number; an array task's as Slurm writes it if the array's number is known."""
    where = "" if job.cluster == cluster else f" on {job.cluster}"
    array = origins.array(job)
    if job.array_task is not None and array is not None:
        return f"{array}_{job.array_task}{where}"
    task = "" if job.array_task is None else f" task {job.array_task}"
    return f"{'-' if job.job_id is None else job.job_id}{task}{where}"


def _json(job: ListedJob, reader: Reader, origins: Origins) -> dict[str, Any]:
    seen = reader.sees(job.uid)
    return {
        "job": job.job_id,
        "array_job": origins.array(job),
        "array_task": job.array_task,
        "cluster": job.cluster,
        "user": user_of(job) if seen else None,
        "uid": job.uid if seen else None,
        "program": job.program if seen else None,
        "at": job.at,
        "verdict": job.verdict,
        "why_none": why(job) if seen else None,
        "record": job.record_id,
        "score": job.score if reader.staff else None,
        "elapsed_s": job.elapsed_s,
        "exit_status": job.exit_status,
        "decision": job.decision_id,
        "campaign": origins.campaign(job),
        "hidden": not seen,
    }
