# SPDX-License-Identifier: Apache-2.0
"""Totals of decisions, jobs and records for an overview, and listings of records and campaigns, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from reprise.database.campaigns import CAMPAIGN
from reprise.database.entities import Campaign, CampaignState, Record
from reprise.database.joint_component import has_part
from reprise.database.records import RECORD
from reprise.database.store import Store

DAY_S = 86_400
_OF_JOB = {  # separate conditions, so that each can use its own index
    key: f"json_extract(metadata, '$.{key}') = :job" for key in ("user", "program", "job_name")
}
_OF_RECORD = {
    "status": "status = :status",
    "component": has_part("component", ":component"),
    "before": "id < :before",
}


@dataclass(frozen=True)
class WantedRecords:
    """Conditions of a search for records; None means no condition.

    `job`: the record's user, program or job name. `before`: only records with smaller ids are found. `limit`: the
    maximum number of records on a page.
    """

    status: str | None = None
    component: str | None = None
    job: str | None = None
    before: int | None = None
    limit: int = 50


def records_sql(wanted: WantedRecords) -> str:
    """Return the SQL statement that finds the records that meet the conditions, newest first.

    The statement has only the conditions that are set, so that SQLite can use their indexes.
    """
    asked = [condition for name, condition in _OF_RECORD.items() if getattr(wanted, name) is not None]
    parts = []
    for condition in _OF_JOB.values() if wanted.job is not None else ("",):
        where = " AND ".join([*filter(None, [condition]), *asked]) or "1 = 1"
        parts.append(f"SELECT * FROM (SELECT * FROM record WHERE {where} ORDER BY id DESC LIMIT :limit) AS part")  # noqa: S608
    return f"{' UNION '.join(parts)} ORDER BY id DESC LIMIT :limit"


class Overview(Store):
    """Methods that return totals, and pages of records and campaigns."""

    def decisions_by_day(self, since: float, offset_s: float = 0.0) -> Sequence[tuple[int, str, int]]:
        """Return the number of decisions for each day and verdict since `since` (Unix seconds): (day, verdict, count).

        A day is the number of days since 1970-01-01, on a clock that is `offset_s` seconds ahead of UTC.
        """
        day = self._connection.TRUNCATED.format("(at + :offset) / :day")
        sql = (
            f"SELECT {day} AS day, verdict, count(*) FROM decision"  # noqa: S608 (an expression of this package)
            " WHERE at >= :since GROUP BY day, verdict"
        )
        rows = self._read(sql, {"since": since, "offset": offset_s, "day": DAY_S})
        return [(row[0], row[1], row[2]) for row in rows]

    def given_by_record(self, since: float) -> Mapping[int, tuple[int, float]]:
        """Return, for each record, the number and node-hours of its jobs that started at `since` or later.

        Only jobs with the record's settings and a confirmed end count. A job with an unknown number of nodes counts as
        running on one node. A job with the settings of several records counts for the best of these records.
        """
        sql = (
            "SELECT d.record_id, count(*),"
            " sum(o.elapsed_s * coalesce(CAST(json_extract(d.metadata, '$.nodes') AS BIGINT), 1)) / 3600"
            " FROM outcome AS o JOIN decision AS d"
            " ON d.id = o.decision_id AND d.uid = o.uid AND d.cluster = o.cluster"
            " WHERE o.started_at >= ? AND o.verdict = 'apply' AND o.confirmed = 1 AND o.elapsed_s IS NOT NULL"
            " AND d.record_id IS NOT NULL"
            " AND NOT (coalesce(d.held_out, 0) = 1 AND d.compared_id = d.record_id)"
            " GROUP BY d.record_id"
        )
        return {row[0]: (row[1], row[2]) for row in self._read(sql, (since,))}

    def some_records(self, wanted: WantedRecords) -> Sequence[Record]:
        """Return the first `wanted.limit` records that meet the conditions, newest first."""
        return [RECORD.decode(row) for row in self._read(records_sql(wanted), asdict(wanted))]

    def some_campaigns(self, before: int | None, limit: int) -> Sequence[Campaign]:
        """Return at most `limit` campaigns with ids smaller than `before` (None: with any ids), newest first."""
        sql = "SELECT * FROM campaign WHERE (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :limit"
        return [CAMPAIGN.decode(row) for row in self._read(sql, {"before": before, "limit": limit})]

    def trial_counts(self, campaigns: Sequence[int]) -> Mapping[int, int]:
        """Return the number of trials of each of these campaigns, by campaign id.

        Campaigns without trials are omitted.
        """
        places = ", ".join("?" * len(campaigns))
        sql = f"SELECT campaign_id, count(*) FROM trial WHERE campaign_id IN ({places}) GROUP BY campaign_id"  # noqa: S608
        return {row[0]: row[1] for row in self._read(sql, tuple(campaigns))}

    def running_campaigns(self) -> int:
        """Return the number of campaigns with the stored state `running`, even if their processes were killed."""
        return int(self._read("SELECT count(*) FROM campaign WHERE state = ?", (CampaignState.RUNNING,))[0][0])
