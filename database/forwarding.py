# SPDX-License-Identifier: Apache-2.0
"""Storage for I/O forwarding: jobs that use forwarders, the shares of these jobs, and the states of the forwarders."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeVar

from reprise.database.connection import Connection, Row
from reprise.database.entities import ForwardedJob, ForwarderShare, ForwarderState
from reprise.database.gain_subject import OF_RUN_TIME_SQL
from reprise.database.joint_component import has_part
from reprise.database.row_codec import Table
from reprise.database.store import Store

COMPONENT = "forwarders"
"""Component whose settings load the forwarding library into a job."""
FORWARDER_SHARE = Table("forwarder_share", ForwarderShare)
FORWARDER_STATE = Table("forwarder_state", ForwarderState)

MOST_PERIODS = 20_000
"""Default maximum number of shares or states that are read of an interval, which takes 0.1 s.

It is five days of a cluster with 4,000 changes a day."""
LONGEST_S = 31 * 86_400.0
"""Seconds before an interval in which shares and states that ended within the interval are searched.

No index has their ends, so all that began in this time are read: 0.04 s with 4,000 changes a day. Few sites let a job
run for longer."""

# A job reports the id of its decision itself, so an outcome counts only if it has the decision's user and cluster.
_JOBS = f"""
SELECT o.id, o.job_id, o.uid, o.started_at, record.component, record.parametrization,
       CASE WHEN record.tuned_unit = 's' AND {OF_RUN_TIME_SQL} THEN record.tuned_mean END
FROM {{source}}
JOIN decision AS d ON d.id = o.decision_id AND d.uid = o.uid AND d.cluster = o.cluster
JOIN record ON record.id = d.record_id
WHERE o.cluster = :cluster AND o.verdict = 'apply' AND d.verdict = 'apply' AND o.ended_at IS NULL
  AND {has_part("record.component", ":component")}
"""  # noqa: S608 (constants of this package)

# Periods that overlap an interval, newest first. Without INDEXED BY, the planner would read all periods of the cluster.
_HELD = """
SELECT * FROM {0} INDEXED BY {0}_now WHERE cluster = :cluster AND until IS NULL AND at < :until
UNION ALL
SELECT * FROM {0} INDEXED BY {0}_by_time
WHERE cluster = :cluster AND at >= :since - :longest AND at < :until AND until > :since
ORDER BY at DESC, id DESC
LIMIT :limit
"""

T = TypeVar("T", ForwarderShare, ForwarderState)


class Forwarding(Store):
    """The jobs that use I/O forwarders, and who served them."""

    def changes_of_others(self) -> int:
        """Return a number that changes whenever another connection has changed the database."""
        return int(self._read(self._connection.CHANGES)[0][0])

    def newest_outcome(self) -> int:
        """Return the id of the newest outcome; 0 if there is none."""
        return int(self._read("SELECT coalesce(max(id), 0) FROM outcome")[0][0])

    def forwarded_since(self, cluster: str, after: int) -> Sequence[ForwardedJob]:
        """Return the starts with ids above `after` of jobs that use forwarders and have not ended, oldest first."""
        sql = _JOBS.format(source="outcome AS o") + " AND o.id > :after ORDER BY o.id"
        rows = self._read(sql, {**_of(cluster), "after": after})
        return [_job(row) for row in rows]

    def forwarded_jobs(self, cluster: str, job_ids: Sequence[int]) -> Sequence[ForwardedJob]:
        """Return the starts of these jobs that use forwarders and have not ended, oldest first."""
        # CROSS JOIN keeps SQLite from reading all outcomes: their number is unrelated to that of the running jobs
        sql = _JOBS.format(source="json_each(:jobs) AS j CROSS JOIN outcome AS o")
        sql += " AND o.job_id = CAST(j.value AS BIGINT) ORDER BY o.id"
        rows = self._read(sql, {**_of(cluster), "jobs": json.dumps(list(job_ids))})
        return [_job(row) for row in rows]

    def verdicts_of(self, cluster: str, job_ids: Sequence[int]) -> Mapping[int, AbstractSet[str]]:
        """Return the verdicts that these jobs have reported; a job that has reported none is left out."""
        rows = self._read(
            "SELECT o.job_id, o.verdict FROM json_each(:ids) AS j CROSS JOIN outcome AS o "
            "WHERE o.cluster = :cluster AND o.job_id = CAST(j.value AS BIGINT)",
            {"cluster": cluster, "ids": json.dumps(list(job_ids))},
        )
        found: dict[int, set[str]] = {}
        for job, verdict in rows:
            found.setdefault(job, set()).add(verdict)
        return found

    def ended_outcomes(self, outcome_ids: Sequence[int]) -> AbstractSet[int]:
        """Return those of the ids whose job has ended, or whose row no longer exists."""
        rows = self._read(
            "SELECT o.id FROM json_each(:ids) AS j CROSS JOIN outcome AS o"
            " WHERE o.id = CAST(j.value AS BIGINT) AND o.ended_at IS NULL",
            {"ids": json.dumps(list(outcome_ids))},
        )
        return set(outcome_ids) - {row[0] for row in rows}

    def shares_now(self, cluster: str) -> Sequence[ForwarderShare]:
        """Return the jobs' present shares, in order of their jobs' ids."""
        rows = self._read(
            "SELECT * FROM forwarder_share WHERE cluster = ? AND until IS NULL ORDER BY job_id", (cluster,)
        )
        return [FORWARDER_SHARE.decode(row) for row in rows]

    def shares_of_job(self, cluster: str, job_id: int, *, uid: int | None = None) -> Sequence[ForwarderShare]:
        """Return a job's present and former shares, newest first; with `uid`, only those of this user's jobs."""
        rows = self._read(
            "SELECT * FROM forwarder_share WHERE cluster = :cluster AND job_id = :job AND (:uid IS NULL OR uid = :uid)"
            " ORDER BY at DESC, id DESC",
            {"cluster": cluster, "job": job_id, "uid": uid},
        )
        return [FORWARDER_SHARE.decode(row) for row in rows]

    def states_now(self, cluster: str) -> Sequence[ForwarderState]:
        """Return the forwarders' present states, in order of their addresses."""
        rows = self._read(
            "SELECT * FROM forwarder_state WHERE cluster = ? AND until IS NULL ORDER BY address", (cluster,)
        )
        return [FORWARDER_STATE.decode(row) for row in rows]

    def shares_between(
        self, cluster: str, since: float, until: float, limit: int = MOST_PERIODS
    ) -> Sequence[ForwarderShare]:
        """Return the newest shares that jobs had at any time from `since` to `until` (Unix seconds), newest first.

        Shares that began more than LONGEST_S before `since` are only found if jobs still have them.
        """
        return self._held(FORWARDER_SHARE, cluster, since, until, limit)

    def states_between(
        self, cluster: str, since: float, until: float, limit: int = MOST_PERIODS
    ) -> Sequence[ForwarderState]:
        """Return the newest states that forwarders had at any time from `since` to `until`, as `shares_between`."""
        return self._held(FORWARDER_STATE, cluster, since, until, limit)

    def _held(self, table: Table[T], cluster: str, since: float, until: float, limit: int) -> Sequence[T]:
        values = {"cluster": cluster, "since": since, "until": until, "longest": LONGEST_S, "limit": limit}
        return [table.decode(row) for row in self._read(held_sql(table.name), values)]

    def set_forwarding(
        self, cluster: str, shares: Sequence[ForwarderShare], states: Sequence[ForwarderState], at: float
    ) -> None:
        """Make these the present shares and states, from `at` on; those that differ end, equal ones continue."""
        with self._write() as connection:
            _replace(connection, FORWARDER_SHARE, self.shares_now(cluster), shares, _share_key, at)
            _replace(connection, FORWARDER_STATE, self.states_now(cluster), states, _state_key, at)


def held_sql(table: str) -> str:
    """Return the SQL that finds the rows of `forwarder_share` or `forwarder_state` that held in an interval."""
    return _HELD.format(table)


def _of(cluster: str) -> Mapping[str, str]:
    return {"cluster": cluster, "component": COMPONENT}


def _job(row: Row) -> ForwardedJob:
    outcome, job, uid, started_at, component, parametrization, expected_s = row
    return ForwardedJob(outcome, job, uid, started_at, component, json.loads(parametrization), expected_s)


def _share_key(share: ForwarderShare) -> Hashable:
    return share.job_id, share.uid, tuple(share.forwarders), share.shared


def _state_key(state: ForwarderState) -> Hashable:
    return state.address, state.works


def _replace(
    connection: Connection,
    table: Table[T],
    before: Sequence[T],
    now: Sequence[T],
    key: Callable[[T], Hashable],
    at: float,
) -> None:
    wanted = {key(one) for one in now}
    kept = {key(one) for one in before} & wanted
    for one in before:
        if key(one) not in wanted:
            connection.execute(table.update_sql, table.encode(replace(one, until=max(at, one.at))))
    table.insert(connection, [table.encode(replace(one, at=at, until=None)) for one in now if key(one) not in kept])
