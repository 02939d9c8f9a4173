# SPDX-License-Identifier: Apache-2.0
"""Database methods for support staff and web pages: jobs with their decisions and ends, and totals."""

from __future__ import annotations

from reprise.database.comparisons import Comparisons
from reprise.database.decisions import Decisions
from reprise.database.forwarding import Forwarding
from reprise.database.job_patterns import JobPatterns
from reprise.database.job_search import Jobs
from reprise.database.observed_jobs import ObservedJobs
from reprise.database.outcomes import Outcomes
from reprise.database.records import Records
from reprise.database.service_runs import ServiceRuns
from reprise.database.totals import Overview


class SupportDatabase(
    Records, Decisions, Comparisons, Outcomes, Jobs, Overview, ServiceRuns, Forwarding, JobPatterns, ObservedJobs
):
    """The database with the methods that support staff need; open it with `SupportDatabase.open(path)`."""
