# SPDX-License-Identifier: Apache-2.0
"""Jobs of a record in blocks, with what became of them."""

from __future__ import annotations

from collections.abc import Sequence

from database.model import Compared
from database.store import Store

# Tasks of a job array share a decision: the first of them that has ended counts. A decision id comes from the job, so
# from its user: another user's report is left alone.
_COMPARED_SQL = """
SELECT d.block, d.id AS decision_id, d.at, json_extract(d.metadata, '$.nodes') AS nodes,
       d.verdict = 'holdout' AS held_out, o.elapsed_s, o.exit_status
FROM decision AS d
LEFT JOIN outcome AS o ON o.id = (
  SELECT min(id) FROM outcome WHERE decision_id = d.id AND uid = d.uid AND cluster = d.cluster AND ended_at IS NOT NULL
)
WHERE d.record_id = :record AND d.block IS NOT NULL AND (:block IS NULL OR d.block = :block) AND d.at > :since
ORDER BY d.block, d.at, d.id
"""


class Comparisons(Store):
    """What tells the gain of a record in production."""

    def compared(self, record_id: int, *, block: str | None = None, since: float = 0.0) -> Sequence[Compared]:
        """The record's jobs that are in blocks, block by block in the order of time, decided after `since` (Unix
        seconds); those of one block only, if given."""
        rows = self._read(_COMPARED_SQL, {"record": record_id, "block": block, "since": since})
        return [
            Compared(
                row["block"],
                row["decision_id"],
                row["at"],
                row["nodes"],
                bool(row["held_out"]),
                row["elapsed_s"],
                None if row["exit_status"] is None else row["exit_status"] != 0,
            )
            for row in rows
        ]

    def place_of(self, decision_id: str) -> tuple[int, str] | None:
        """The record and the block of a decision; None where it is in none, or not there."""
        rows = self._read("SELECT record_id, block FROM decision WHERE id = ? AND block IS NOT NULL", (decision_id,))
        return (rows[0]["record_id"], rows[0]["block"]) if rows and rows[0]["record_id"] is not None else None
