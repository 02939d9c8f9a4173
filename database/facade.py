# SPDX-License-Identifier: Apache-2.0
"""The database as the other parts see it: one object with a method for each thing they do."""

from __future__ import annotations

from collections.abc import Mapping

from reprise.database.campaigns import CAMPAIGN, TRIAL, Campaigns
from reprise.database.comparisons import Comparisons
from reprise.database.decisions import DECISION, Decisions
from reprise.database.job_search import Jobs
from reprise.database.outcomes import OUTCOME, Outcomes
from reprise.database.predictions import PREDICTION, Predictions
from reprise.database.records import ARTIFACT, RECORD, STATUS_CHANGE, Records
from reprise.database.replicas import Replicas
from reprise.database.service_runs import SERVICE_RUN, ServiceRuns
from reprise.database.totals import Overview

_OVER = {
    "decision": "at < :before",
    "outcome": "started_at < :before AND coalesce(ended_at, started_at) < :before",  # the first goes by an index
    "service_run": "coalesce(stopped_at, seen_at) < :before",
}
TABLES = (CAMPAIGN, TRIAL, ARTIFACT, RECORD, DECISION, OUTCOME, SERVICE_RUN, PREDICTION, STATUS_CHANGE)


class Database(
    Campaigns, Records, Decisions, Comparisons, Outcomes, Jobs, Overview, ServiceRuns, Predictions, Replicas
):
    """Open it with `Database.open(path)`. For one thread at a time; several processes may have the file open."""

    def counts(self) -> Mapping[str, int]:
        """Rows of each table."""
        sql = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table.name})" for table in TABLES)  # noqa: S608 (own names)
        return dict(zip((table.name for table in TABLES), self._read(sql)[0], strict=True))

    def purge(self, before: float, at_most: int = -1) -> int:
        """Delete decisions, outcomes and service runs that were over before this time, of each `at_most` so many unless
        that is negative; returns how many rows in all. If these are at least `at_most`, there may be more."""
        with self._write() as connection:
            return sum(
                connection.execute(
                    f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {over} LIMIT :most)",  # noqa: S608 (own words)
                    {"before": before, "most": at_most},
                ).rowcount
                for table, over in _OVER.items()
            )
