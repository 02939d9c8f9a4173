# SPDX-License-Identifier: Apache-2.0
"""Parser that turns a submission into a job's metadata."""

from reprise.matcher.submission.clusters import named_clusters
from reprise.matcher.submission.parse import parse
from reprise.matcher.submission.submitted import SCRIPT_LIMIT, JobFacts, Script, Submission

__all__ = ["SCRIPT_LIMIT", "JobFacts", "Script", "Submission", "named_clusters", "parse"]
