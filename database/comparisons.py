# SPDX-License-Identifier: Apache-2.0
"""Jobs of a record in blocks, with what became of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from reprise.database.entities import Compared, LatelyCompared
from reprise.database.store import Store

# Tasks of a job array share a decision: the first of them that ended counts. A decision id comes from the job, so from
# its user: another user's report is left alone. The index is named, since the planner takes another one, and with it
# reads all decisions of the record for each block.
_COMPARED_SQL = """
SELECT d.block, coalesce(d.block_size, 0) AS size, d.id, d.at, json_extract(d.metadata, '$.nodes') AS nodes,
       d.held_out, o.elapsed_s, o.exit_status
FROM decision AS d INDEXED BY decision_by_block
LEFT JOIN outcome AS o ON o.id = (
  SELECT id FROM outcome WHERE decision_id = d.id AND uid = d.uid AND cluster = d.cluster AND ended_at IS NOT NULL
  ORDER BY ended_at, id LIMIT 1
)
WHERE d.compared_id = :record AND d.block IS NOT NULL AND d.at > :since
"""
_IN_ORDER = "ORDER BY d.block, d.at, d.id"
BLOCK_SQL = f"{_COMPARED_SQL} AND d.block = :block {_IN_ORDER}"
ALL_SQL = f"{_COMPARED_SQL} {_IN_ORDER}"
# Blocks are named in the order of time.
LATEST_SQL = f"{_COMPARED_SQL} ORDER BY d.block DESC, d.at DESC, d.id DESC LIMIT :most"
COUNT_SQL = """
SELECT count(*), count(DISTINCT block) FROM decision INDEXED BY decision_by_block
WHERE compared_id = :record AND block IS NOT NULL AND (:since = 0 OR at > :since)
"""


def _compared(row: sqlite3.Row) -> Compared:
    return Compared(
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
    """What tells the gain of a record in production."""

    def compared(self, record_id: int, *, block: str | None = None, since: float = 0.0) -> Sequence[Compared]:
        """The record's jobs that are in blocks, block by block in the order of time, decided after `since` (Unix
        seconds); those of one block only, if given."""
        sql = ALL_SQL if block is None else BLOCK_SQL
        rows = self._read(sql, {"record": record_id, "block": block, "since": since})
        return [_compared(row) for row in rows]

    def lately_compared(self, record_id: int, most: int, *, since: float = 0.0) -> LatelyCompared:
        """The latest of them, at most so many, in whole blocks; without reading those before."""
        wanted = {"record": record_id, "since": since, "most": most + 1}
        with self.one_state():
            (jobs, blocks) = self._read(COUNT_SQL, wanted)[0]
            rows = self._read(LATEST_SQL, wanted)
        latest = [_compared(row) for row in reversed(rows)]
        if len(latest) > most:  # the first block may lack jobs
            latest = [one for one in latest if one.block != latest[0].block]
        return LatelyCompared(latest, jobs, blocks - len({one.block for one in latest}))

    def place_of(self, decision_id: str) -> tuple[int, str] | None:
        """The record that a decision compares and its block; None where it is in none, or not there."""
        sql = "SELECT compared_id, block FROM decision WHERE id = ? AND block IS NOT NULL AND compared_id IS NOT NULL"
        rows = self._read(sql, (decision_id,))
        return (rows[0][0], rows[0][1]) if rows else None
