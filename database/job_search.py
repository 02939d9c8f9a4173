# SPDX-License-Identifier: Apache-2.0
"""Searches for jobs, with their decisions and outcomes, for support staff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from reprise.database.connection import ALL_ROWS
from reprise.database.entities import ListedJob, UnmatchedClass, UnreadScript
from reprise.database.gain_subject import OF_RUN_TIME_SQL
from reprise.database.joint_component import has_part
from reprise.database.store import Store

IDS = 500  # maximum number of ids in one statement; SQLite before 3.32 allows 999 parameters
EVER = 1e12  # later than any time in the database, in Unix seconds

# A job reports the id of its decision itself, so a user could report the id of another user's decision. An outcome
# therefore counts only if it has the decision's user and cluster.
_OUTCOME_OF = "o.decision_id = d.id AND o.uid = d.uid AND o.cluster = d.cluster"

_DECIDED = f"""
SELECT d.cluster, coalesce(o.job_id, d.job_id) AS job_id,
       CASE WHEN o.id IS NULL THEN d.array_task ELSE o.array_task END AS array_task, d.uid, d.user, d.at, d.verdict,
       d.record_id, d.score, o.elapsed_s, o.exit_status, d.id AS decision_id,
       nullif(json_extract(d.metadata, '$.program'), '') AS program, d.reason
FROM decision AS d LEFT JOIN outcome AS o ON {_OUTCOME_OF}
WHERE d.at >= :since AND d.at < :until
"""  # noqa: S608 (constants of this module)
_REPORTED = f"""
SELECT o.cluster, o.job_id, o.array_task, o.uid, '', o.started_at AS at, o.verdict, NULL, NULL, o.elapsed_s,
       o.exit_status, NULL, NULL, ''
FROM outcome AS o
WHERE o.started_at >= :since AND o.started_at < :until
  AND NOT EXISTS (SELECT 1 FROM decision AS d WHERE {_OUTCOME_OF})
"""  # noqa: S608 (constants of this module)
# Trials run with REPRISE=off. With `IN`, SQLite and PostgreSQL read the ids of all trials once: no index has them.
_OF_CAMPAIGN = (
    "o.verdict = 'off' AND o.cluster = :here"
    " AND o.job_id IN (SELECT slurm_job_id FROM trial WHERE slurm_job_id IS NOT NULL)"
)
_USED = """EXISTS (
    SELECT 1 FROM json_each(d.alternatives)
    WHERE json_type(value, '$.used') = 'true' AND {1} = :{0})"""
_RECORD = "CAST(json_extract(value, '$.record') AS BIGINT)"
_OF_DECISIONS = {
    "user": "d.user = :user",
    "only": "d.uid = :only",
    "verdict": "d.verdict = :verdict",
    "record": f"(d.record_id = :record OR {_USED.format('record', _RECORD)})",
    "main_record": "d.record_id = :main_record",
    "component": _USED.format("component", "json_extract(value, '$.component')"),
    "account": "json_extract(d.metadata, '$.account') = :account",
    "partition": "json_extract(d.metadata, '$.partition') = :partition",
    "failed": "o.exit_status <> 0",
    "of_campaigns": "1 = 0",
}
_OF_REPORTS = {
    "user": "o.uid = :uid",
    "only": "o.uid = :only",
    "verdict": "o.verdict = :verdict",
    "failed": "o.exit_status <> 0",
    "without_campaigns": f"NOT ({_OF_CAMPAIGN})",
    "of_campaigns": _OF_CAMPAIGN,
}
# Conditions that only jobs with a decision can meet, because the reports of jobs lack the data that these conditions
# test.
_ONLY_DECISIONS = ("application", *(name for name in _OF_DECISIONS if name not in _OF_REPORTS))
_OF_APPLICATION = (  # separate conditions, so that each can use its own index
    "json_extract(d.metadata, '$.program') = :application",
    "json_extract(d.metadata, '$.job_name') = :application"
    " AND (json_extract(d.metadata, '$.program') IS NULL OR json_extract(d.metadata, '$.program') <> :application)",
)

# The tasks of a job array share one decision; only the task that ended first counts, as in `comparisons`.
_ALIKE_SQL = """
SELECT CASE WHEN d.verdict = 'holdout' OR d.held_out = 1 AND d.compared_id = d.record_id THEN 1 ELSE 0 END AS held_out,
       o.elapsed_s
FROM decision AS d
JOIN outcome AS o ON o.id = (
  SELECT id FROM outcome WHERE decision_id = d.id AND uid = d.uid AND cluster = d.cluster AND confirmed = 1
  ORDER BY ended_at, id LIMIT 1
)
WHERE d.record_id = :record AND d.verdict IN ('apply', 'holdout') AND d.id <> :but
  AND coalesce(CAST(json_extract(d.metadata, '$.nodes') AS BIGINT), -1) = coalesce(:nodes, -1)
  AND o.exit_status = 0 AND o.elapsed_s IS NOT NULL
  AND (:uid IS NULL OR d.uid = :uid)
"""

_APPLICATION = "coalesce(nullif(json_extract({0}, '$.program'), ''), json_extract({0}, '$.job_name'), '')"

# {id}, {unmatched} and {job_name} are those of the group's newest decision, see `SQLite.NEWEST`
_UNMATCHED_SQL = f"""
SELECT uid, classes.user, application, nodes, jobs, node_hours, decision_id FROM (
  SELECT max(d.at), {{id}} AS decision_id, d.uid, d.user, {{unmatched}} AS unmatched, application, nodes,
         sum(CASE WHEN d.unmatched AND o.confirmed = 1 AND o.elapsed_s IS NOT NULL THEN 1 ELSE 0 END) AS jobs,
         sum(CASE WHEN d.unmatched AND o.confirmed = 1 THEN o.elapsed_s END) * coalesce(nodes, 1) / 3600 AS node_hours
  FROM outcome AS o JOIN (
    SELECT *, CAST(json_extract(metadata, '$.nodes') AS BIGINT) AS nodes,
           {_APPLICATION.format("metadata")} AS application,
           (score IS NULL OR score < threshold) AND substr(reason, 1, length(:refused)) <> :refused
             AND (verdict = 'none' OR EXISTS (
               SELECT 1 FROM record WHERE record.id = decision.record_id AND scope = 'cluster'
             )) AS unmatched
    FROM decision
  ) AS d ON {_OUTCOME_OF}
  WHERE o.started_at >= :since
  GROUP BY d.uid, d.user, application, nodes
) AS classes
WHERE unmatched AND node_hours > 0
ORDER BY node_hours DESC, classes.user, application, nodes
"""  # noqa: S608 (constants of this module)

# If a script's path is known, jobs are grouped only by this path, because job names may differ from job to job.
_UNREAD_SQL = f"""
SELECT uid, scripts.user, script_path, job_name, jobs, node_hours, decision_id FROM (
  SELECT max(d.at), {{id}} AS decision_id, d.uid, d.user, script_path, {{job_name}} AS job_name, count(*) AS jobs,
         sum(o.elapsed_s * coalesce(nodes, 1)) / 3600 AS node_hours
  FROM outcome AS o JOIN (
    SELECT *, CAST(json_extract(metadata, '$.nodes') AS BIGINT) AS nodes,
           coalesce(json_extract(metadata, '$.script_path'), '') AS script_path,
           coalesce(json_extract(metadata, '$.job_name'), '') AS job_name
    FROM decision WHERE coalesce(json_extract(metadata, '$.program'), '') = ''
  ) AS d ON {_OUTCOME_OF}
  WHERE o.started_at >= :since AND o.confirmed = 1 AND o.elapsed_s IS NOT NULL
  GROUP BY d.uid, d.user, script_path, CASE WHEN script_path = '' THEN job_name ELSE '' END
) AS scripts
ORDER BY node_hours DESC, scripts.user, script_path, job_name
LIMIT :limit
"""  # noqa: S608 (constants of this module)

_GAINS_SQL = f"""
SELECT id, gain, coalesce(json_extract(metadata, '$.user'), ''), {_APPLICATION.format("metadata")}, {OF_RUN_TIME_SQL}
FROM record WHERE status = 'active' AND (:component IS NULL OR {has_part("component", ":component")})
"""  # noqa: S608 (constants of this module)
_IN_VAIN_SQL = f"""
SELECT coalesce(json_extract(metadata, '$.user'), ''), {_APPLICATION.format("metadata")}
FROM (SELECT id, json_extract(spec, '$.metadata') AS metadata FROM campaign
      WHERE state = 'complete' AND (:component IS NULL OR component = :component)) AS c
WHERE NOT EXISTS (SELECT 1 FROM record WHERE campaign_id = c.id)
"""  # noqa: S608 (constants of this module)


T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """Conditions of a search for jobs; None means no condition.

    `user` is a user's name and `uid` the id. Without `uid`, the search does not find jobs that are stored with the
    user's id but without the name. `application` is the name of a program or of a job. `account` and `partition` are
    those of the submission; no index supports them, so all decisions from `since` to `until` (Unix seconds) are read.
    `record` and `component` are those of the settings that the job got or would have got; `main_record` is the record
    that determined the job's score. `without_campaigns` leaves out the jobs in which campaigns on the cluster `here`
    ran their trials, and `of_campaigns` leaves out all others. `only` restricts the search to this user id, whatever
    the other conditions are.
    """

    user: str | None = None
    uid: int | None = None
    application: str | None = None
    verdict: str | None = None
    record: int | None = None
    main_record: int | None = None
    component: str | None = None
    account: str | None = None
    partition: str | None = None
    since: float = 0.0
    until: float = EVER
    failed: bool = False
    only: int | None = None
    without_campaigns: bool = False
    of_campaigns: bool = False
    here: str = ""
    limit: int = ALL_ROWS

    def is_set(self, name: str) -> bool:
        """Return whether the condition with this name restricts the search, which None and False do not."""
        return getattr(self, name) not in (None, False)


def decided_sql(wanted: Wanted) -> str:
    """Return the SQL statement that finds the decisions that meet the conditions.

    The statement has only the conditions that are set, so that SQLite can use their indexes.
    """
    selects = [_having(_DECIDED, wanted, _OF_DECISIONS)]
    if wanted.is_set("application"):
        selects = [f"{selects[0]} AND {one}" for one in _OF_APPLICATION]
    limited = (f"SELECT * FROM ({one} ORDER BY at DESC LIMIT :limit) AS part" for one in selects)  # noqa: S608 (fixed names)
    return f"{' UNION ALL '.join(limited)} ORDER BY at DESC LIMIT :limit"


def reported_sql(wanted: Wanted) -> str:
    """Return the SQL statement that finds jobs that reported a start but have no decision."""
    return f"{_having(_REPORTED, wanted, _OF_REPORTS)} ORDER BY at DESC LIMIT :limit"


def _having(select: str, wanted: Wanted, conditions: Mapping[str, str]) -> str:
    asked = [condition for name, condition in conditions.items() if wanted.is_set(name)]
    return " AND ".join([select, *asked])


def _slices(ids: Sequence[T], count: int) -> Iterator[Sequence[T]]:
    """Yield the ids in slices of at most `count`."""
    return (ids[start : start + count] for start in range(0, len(ids), count))


class Jobs(Store):
    """Methods that search for jobs, for support staff."""

    def jobs(self, wanted: Wanted) -> Sequence[ListedJob]:
        """Return the jobs that meet the conditions, newest first.

        An entry of the result is a start of a job or array task with the job's decision, a decision about a job that
        reported nothing, or a start of a job without a decision, whose user's name is unknown.
        """
        with self.one_state():
            found = [ListedJob(*row) for row in self._read(decided_sql(wanted), asdict(wanted))]
            if not any(map(wanted.is_set, _ONLY_DECISIONS)):
                # Reports older than all of these jobs would be beyond the limit, so they are not read.
                if len(found) == wanted.limit:
                    wanted = replace(wanted, since=max(wanted.since, found[-1].at))
                found += [ListedJob(*row) for row in self._read(reported_sql(wanted), asdict(wanted))]
        found.sort(key=lambda one: one.at, reverse=True)
        return found[: wanted.limit]

    def campaigns_of_jobs(self, job_ids: Iterable[int]) -> Mapping[int, int]:
        """Return the ids of the campaigns that ran trials in these Slurm jobs, by job id."""
        found: dict[int, int] = {}
        for some in _slices(sorted(set(job_ids)), IDS):
            sql = f"""
                SELECT slurm_job_id, max(campaign_id) FROM trial
                WHERE slurm_job_id IN ({", ".join("?" * len(some))}) GROUP BY slurm_job_id"""  # noqa: S608 (marks)
            found.update((row[0], row[1]) for row in self._read(sql, tuple(some)))
        return found

    def arrays_of_decisions(self, decision_ids: Iterable[str]) -> Mapping[tuple[str, int, str], int]:
        """Return the ids of job arrays, by decision, user id and cluster, as far as they can be known.

        Slurm starts the tasks of an array in order, and gives each a new id, except the last one, which has the id of
        the array. So the smallest id is that of the array if the last task has it.
        """
        found: dict[tuple[str, int, str], int] = {}
        for some in _slices(sorted(set(decision_ids)), IDS):
            sql = f"""
                SELECT DISTINCT a.decision_id, a.uid, a.cluster, a.first_id FROM (
                  SELECT decision_id, uid, cluster, min(job_id) AS first_id, min(array_task) AS first_task,
                         max(array_task) AS last_task
                  FROM outcome
                  WHERE decision_id IN ({", ".join("?" * len(some))}) AND array_task IS NOT NULL
                  GROUP BY decision_id, uid, cluster
                ) AS a JOIN outcome AS o ON o.decision_id = a.decision_id AND o.uid = a.uid AND o.cluster = a.cluster
                  AND o.job_id = a.first_id AND o.array_task = a.last_task
                WHERE a.first_task < a.last_task"""  # noqa: S608 (marks)
            found.update(((row[0], row[1], row[2]), row[3]) for row in self._read(sql, tuple(some)))
        return found

    def alike(
        self, record_id: int, nodes: int | None, *, but: str, uid: int | None = None
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Return the run times, in seconds, of the successful jobs on `nodes` nodes that this record matched best.

        The first list is for jobs with the record's settings, the second for held-out jobs.

        The job of the decision `but` is omitted; with `uid`, only this user's jobs count.
        """
        rows = self._read(_ALIKE_SQL, {"record": record_id, "nodes": nodes, "but": but, "uid": uid})
        given, held_out = ([row["elapsed_s"] for row in rows if row["held_out"] == kind] for kind in (0, 1))
        return given, held_out

    def unmatched(self, since: float, *, refused: str) -> Sequence[UnmatchedClass]:
        """Return the classes of jobs in which the newest decision found no similar record, by descending node-hours.

        The jobs of a class have the same user, program (else job name) and number of nodes. Jobs that started at
        `since` (Unix seconds) or later count, even if they got settings for the whole cluster. Decisions whose reason
        begins with `refused` do not count, because no record was compared for them.
        """
        rows = self._read(self._of_newest(_UNMATCHED_SQL), {"since": since, "refused": refused})
        return [UnmatchedClass(*row) for row in rows]

    def unread_scripts(self, since: float, limit: int) -> Sequence[UnreadScript]:
        """Return scripts in which the parser found no program, the script with the most node-hours first.

        There is one row for each user and script; if the script's path is unknown, one for each user and job name.

        Jobs that started at `since` (Unix seconds) or later count; at most `limit` rows are returned.
        """
        rows = self._read(self._of_newest(_UNREAD_SQL), {"since": since, "limit": limit})
        return [UnreadScript(*row) for row in rows]

    def _of_newest(self, sql: str) -> str:
        newest = self._connection.NEWEST.format
        return sql.format(id=newest("d.id"), unmatched=newest("d.unmatched"), job_name=newest("job_name"))

    def gains_of_jobs(self, component: str | None) -> Iterator[tuple[int, float, str, str, int]]:
        """Yield the gain and the tuned job of each active record; with `component`, only of records for this component.

        A row has the record's id, its measured gain, the job's user and application (as in `unmatched`; "" if the
        record is not for an application), and whether the gain refers to the run time.
        """
        return (tuple(row) for row in self._rows(_GAINS_SQL, {"component": component}))

    def campaigns_in_vain(self, component: str | None) -> Sequence[tuple[str, str]]:
        """Return the user and application of each complete campaign that did not produce a record.

        With `component`, consider only campaigns for this component.
        """
        return [(row[0], row[1]) for row in self._read(_IN_VAIN_SQL, {"component": component})]

    def compared_records(self) -> Sequence[int]:
        """Return the ids of records that have jobs in blocks, even if none was held out, lowest first."""
        rows = self._read(
            "SELECT DISTINCT compared_id FROM decision WHERE compared_id IS NOT NULL AND block IS NOT NULL"
            " ORDER BY compared_id"
        )
        return [row[0] for row in rows]
