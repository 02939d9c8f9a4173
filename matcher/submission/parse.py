# SPDX-License-Identifier: Apache-2.0
"""From a submission to JobMetadata."""

from __future__ import annotations

from matcher.metadata import JobMetadata
from matcher.submission.model import JobFacts, Submission


def parse(submission: Submission, *, user: str, submit_time: float, facts: JobFacts | None = None) -> JobMetadata:
    """The metadata of the submitted job. Never raises: what cannot be understood stays unknown."""
    facts = facts or JobFacts()
    return JobMetadata(user, submit_time=submit_time, nodes=facts.nodes, tasks=facts.tasks, directory=submission.cwd)
