# SPDX-License-Identifier: Apache-2.0
"""Determine a job's number of tasks per node from its script and options."""

from __future__ import annotations

import math

from reprise.matcher.submission.metadata import JobMetadata


def tasks_on_each(job: JobMetadata, nodes: int) -> int:
    """Return the tasks per node that the user set; otherwise the tasks divided by `nodes`, rounded up; otherwise 1."""
    return job.tasks_per_node or (math.ceil(job.tasks / nodes) if job.tasks else 1)
