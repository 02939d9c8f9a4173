# SPDX-License-Identifier: Apache-2.0
"""Number of tasks per node of a job, as far as its script and options determine it."""

from __future__ import annotations

import math

from reprise.matcher.submission.metadata import JobMetadata


def tasks_on_each(job: JobMetadata, nodes: int) -> int:
    """Return the tasks per node: the user's number, else all tasks divided by the nodes and rounded up, else one."""
    return job.tasks_per_node or (math.ceil(job.tasks / nodes) if job.tasks else 1)
