# SPDX-License-Identifier: Apache-2.0
"""Queries for blocks of similar jobs and their results; some jobs of a block get a record's settings, others none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reprise.database.connection import Row
from reprise.database.entities import Compared, LatelyCompared
from reprise.database.store import Store

# The tasks of a job array share one decision; only the task that ended first counts. A job reports the id of its
# decision itself, so a user could report the id of another user's decision. An outcome therefore counts only if it is
# confirmed and has the decision's user and cluster. INDEXED BY is needed because SQLite's planner would choose a
# different index, and read all decisions of the record to find one block.
_COMPARED_SQL = """
SELECT d.uid, d.block, coalesce(d.block_size, 0) AS size, d.id, d.at,
       CAST(json_extract(d.metadata, '$.nodes') AS BIGINT) AS nodes, d.held_out, o.elapsed_s, o.exit_status
FROM decision AS d INDEXED BY {index}
LEFT JOIN outcome AS o ON o.id = (
  SELECT id FROM outcome WHERE decision_id = d.id AND uid = d.uid AND cluster = d.cluster AND confirmed = 1
  ORDER BY ended_at, id LIMIT 1
)
WHERE d.compared_id = :record AND d.block IS NOT NULL AND d.at > :since
"""
_IN_ORDER = "ORDER BY d.block, d.at, d.id"
_OF_ALL = _COMPARED_SQL.format(index="decision_by_block")
_OF_USER = f"{_COMPARED_SQL.format(index='decision_by_user_block')} AND d.uid = :uid"
# The order of the blocks' names is the order in which the blocks were begun.
_FROM_LATEST = "ORDER BY d.block DESC, d.at DESC, d.id DESC LIMIT :most"
BLOCK_SQL = f"{_OF_ALL} AND d.block = :block {_IN_ORDER}"
ALL_SQL = f"{_OF_ALL} {_IN_ORDER}"
USER_SQL = f"{_OF_USER} {_IN_ORDER}"
LATEST_SQL = f"{_OF_ALL} {_FROM_LATEST}"
LATEST_OF_USER_SQL = f"{_OF_USER} {_FROM_LATEST}"
COUNT_SQL = """
SELECT count(*), count(DISTINCT block) FROM decision INDEXED BY decision_by_user_block
WHERE compared_id = :record AND uid = :uid AND block IS NOT NULL AND (:since = 0 OR at > :since)
"""
# Counts the users who have at least :blocks measured blocks. A block is measured if it has two or more jobs and all of
# its jobs have confirmed ends; jobs that failed count like the others.
MEASURED_SQL = """
SELECT count(*) FROM (
  SELECT uid FROM (
    SELECT d.uid, d.block FROM decision AS d INDEXED BY decision_by_user_block
    WHERE d.compared_id = :record AND d.block IS NOT NULL AND d.at > :since
    GROUP BY d.uid, d.block
    HAVING count(*) > 1 AND count(*) = sum(CASE WHEN EXISTS (
      SELECT 1 FROM outcome WHERE decision_id = d.id AND uid = d.uid AND cluster = d.cluster AND confirmed = 1
    ) THEN 1 ELSE 0 END)
  ) AS measured
  GROUP BY uid HAVING count(*) >= :blocks
) AS users
"""


class Place(NamedTuple):
    """The record, the user and the block of a decision about a job in a block."""

    record_id: int
    uid: int
    user: str
    block: str


def _compared(row: Row) -> Compared:
    return Compared(
        row["uid"],
        row["block"],
        row["size"],
        row["id"],
        row["at"],
        row["nodes"],
        bool(row["held_out"]),
        row["elapsed_s"],
        None if row["exit_status"] is None else row["exit_status"] != 0,
    )


class Comparisons(Store):
    """Methods that find the jobs in blocks; the jobs' run times show the gain of a record in production."""

    def compared(
        self, record_id: int, *, block: str | None = None, uid: int | None = None, since: float = 0.0
    ) -> Sequence[Compared]:
        """Return the jobs in a record's blocks, if the jobs' decisions were made after `since` (Unix seconds).

        The jobs are ordered by block, and by time within a block.

        With `block` or `uid`, return only the jobs of that block or user.
        """
        sql = BLOCK_SQL if block is not None else ALL_SQL if uid is None else USER_SQL
        rows = self._read(sql, {"record": record_id, "block": block, "uid": uid, "since": since})
        return [_compared(row) for row in rows]

    def lately_compared(self, record_id: int, most: int, *, since: float = 0.0) -> Sequence[Compared]:
        """Return the most recent jobs in the record's blocks, at most `most`, without reading earlier jobs.

        If there are more than `most` jobs, the earliest block is omitted, because some of its jobs may be missing.
        """
        return _whole(self._read(LATEST_SQL, {"record": record_id, "since": since, "most": most + 1}), most)

    def lately_compared_of(self, record_id: int, uid: int, most: int, *, since: float = 0.0) -> LatelyCompared:
        """Return one user's `most` latest jobs in a record's blocks, and count all such jobs and the earlier blocks."""
        wanted = {"record": record_id, "uid": uid, "since": since, "most": most + 1}
        with self.one_state():
            (jobs, blocks) = self._read(COUNT_SQL, wanted)[0]
            latest = _whole(self._read(LATEST_OF_USER_SQL, wanted), most)
        return LatelyCompared(latest, jobs, blocks - len({one.block for one in latest}))

    def users_measured(self, record_id: int, blocks: int, *, since: float = 0.0) -> int:
        """Return the number of users who have at least `blocks` measured blocks of this record (see MEASURED_SQL)."""
        rows = self._read(MEASURED_SQL, {"record": record_id, "blocks": blocks, "since": since})
        return int(rows[0][0])

    def place_of(self, decision_id: str) -> Place | None:
        """Return the record, user and block of a decision; None if the decision has no block or does not exist."""
        sql = (
            "SELECT compared_id, uid, decision.user, block FROM decision"
            " WHERE id = ? AND block IS NOT NULL AND compared_id IS NOT NULL"
        )
        rows = self._read(sql, (decision_id,))
        return Place(*rows[0]) if rows else None


def _whole(rows: Sequence[Row], most: int) -> Sequence[Compared]:
    """Return jobs in chronological order, given rows in reverse order.

    If there are more than `most` rows, omit the earliest block, because some of its jobs may be missing.
    """
    latest = [_compared(row) for row in reversed(rows)]
    return [one for one in latest if one.block != latest[0].block] if len(latest) > most else latest
