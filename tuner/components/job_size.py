# SPDX-License-Identifier: Apache-2.0
"""How many tasks a job has on each of its nodes, as far as its script and options say."""

from __future__ import annotations

import math

from reprise.matcher.submission.metadata import JobMetadata


def tasks_on_each(job: JobMetadata, nodes: int) -> int:
    """Tasks on each of so many nodes: as the user has it, else all tasks dealt out, else one."""
    return job.tasks_per_node or (math.ceil(job.tasks / nodes) if job.tasks else 1)
