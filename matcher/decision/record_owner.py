# SPDX-License-Identifier: Apache-2.0
"""Name of the job that a record was tuned for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reprise.database.entities import Record
    from reprise.matcher.decision.known_records import Known


def described(record: Record | Known) -> str:
    """Return the user and program of the job that a record was tuned for, such as `alice's lattice`."""
    job = record.metadata or {}
    if isinstance(job, Mapping):
        return f"{job.get('user', '?')}'s {job.get('program') or job.get('job_name') or 'a job'}"
    return f"{job.user}'s {job.program or job.job_name or 'a job'}"
