# SPDX-License-Identifier: Apache-2.0
"""A submission, turned into the metadata of a job."""

from matcher.submission.clusters import named_clusters
from matcher.submission.model import SCRIPT_LIMIT, JobFacts, Script, Submission
from matcher.submission.parse import parse

__all__ = ["SCRIPT_LIMIT", "JobFacts", "Script", "Submission", "named_clusters", "parse"]
