# SPDX-License-Identifier: Apache-2.0
"""Parser that turns a submission into a job's metadata."""

from typing import TYPE_CHECKING

from reprise.lazy import lazily

if TYPE_CHECKING:
    from reprise.matcher.submission.clusters import named_clusters
    from reprise.matcher.submission.submission_parser import parse
    from reprise.matcher.submission.submitted import SCRIPT_LIMIT, JobFacts, Script, Submission

__all__ = ["SCRIPT_LIMIT", "JobFacts", "Script", "Submission", "named_clusters", "parse"]

_SUBMITTED = dict.fromkeys(("SCRIPT_LIMIT", "JobFacts", "Script", "Submission"), "submitted")
__getattr__ = lazily(__name__, {**_SUBMITTED, "named_clusters": "clusters", "parse": "submission_parser"})
