# SPDX-License-Identifier: Apache-2.0
"""The database as support staff and pages read it: jobs with what was decided, how they ended, and totals."""

from __future__ import annotations

from reprise.database.comparisons import Comparisons
from reprise.database.decisions import Decisions
from reprise.database.job_search import Jobs
from reprise.database.outcomes import Outcomes
from reprise.database.records import Records
from reprise.database.service_runs import ServiceRuns
from reprise.database.totals import Overview


class SupportDatabase(Records, Decisions, Comparisons, Outcomes, Jobs, Overview, ServiceRuns):
    """Open it with `SupportDatabase.open(path)`."""
