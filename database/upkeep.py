# SPDX-License-Identifier: Apache-2.0
"""Maintenance of the database: counting rows, and deleting old rows."""

from __future__ import annotations

from collections.abc import Mapping

from reprise.database.campaigns import CAMPAIGN, TRIAL
from reprise.database.connection import ALL_ROWS
from reprise.database.decisions import DECISION
from reprise.database.forwarding import FORWARDER_SHARE, FORWARDER_STATE
from reprise.database.job_patterns import JOB_PATTERN
from reprise.database.outcomes import OUTCOME
from reprise.database.predictions import PREDICTION
from reprise.database.records import ARTIFACT, PROFILE, RECORD, STATUS_CHANGE, USER_QUARANTINE
from reprise.database.service_runs import SERVICE_RUN
from reprise.database.store import Store

_OVER = {
    "decision": "at < :before",
    # the first condition follows from the second, but only the first can use an index
    "outcome": "started_at < :before AND coalesce(ended_at, started_at) < :before",
    "service_run": "coalesce(stopped_at, seen_at) < :before",
    "forwarder_share": "at < :before AND until < :before",
    "forwarder_state": "at < :before AND until < :before",
}
TABLES = (
    CAMPAIGN,
    TRIAL,
    ARTIFACT,
    RECORD,
    DECISION,
    OUTCOME,
    SERVICE_RUN,
    PREDICTION,
    STATUS_CHANGE,
    USER_QUARANTINE,
    PROFILE,
    FORWARDER_SHARE,
    FORWARDER_STATE,
    JOB_PATTERN,
)


class Upkeep(Store):
    """Maintenance methods that apply to several tables."""

    def counts(self) -> Mapping[str, int]:
        """Return the number of rows of each table."""
        sql = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table.name})" for table in TABLES)  # noqa: S608 (fixed names)
        return dict(zip((table.name for table in TABLES), self._read(sql)[0], strict=True))

    def about_rows(self) -> Mapping[str, int]:
        """Estimate the number of rows in `decision` and `outcome`, the tables that grow with the number of jobs."""
        return {table: self._connection.about(table) for table in ("decision", "outcome")}

    def purge(self, before: float, at_most: int = ALL_ROWS) -> int:
        """Delete decisions, outcomes, service runs and forwarders' shares older than `before` (Unix seconds).

        Return the number of deleted rows.

        At most `at_most` rows of each table are deleted. If the result is at least
        `at_most`, there may be more rows to delete.
        """
        with self._write() as connection:
            return sum(
                connection.execute(
                    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {over} LIMIT :most)",  # noqa: S608 (fixed names)
                    {"before": before, "most": at_most},
                ).rowcount
                for table, over in _OVER.items()
            )
