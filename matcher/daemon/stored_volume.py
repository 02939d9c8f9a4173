# SPDX-License-Identifier: Apache-2.0
"""Limit on the bytes stored per uid and day, and the short form in which decisions beyond the limit are stored."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from reprise.database.entities import Decision
from reprise.database.row_codec import Cell
from reprise.eventlog import Throttle
from reprise.matcher.daemon.allowance import Allowance
from reprise.matcher.submission.stored_metadata import OMITTED

log = logging.getLogger(__name__)

AT_ONCE_BYTES = 28 * 2**20
A_DAY_BYTES = 28 * 2**20
"""Bytes that may be stored for one uid at once, and bytes that are added to this allowance per day.

Thus at most 56 MiB are stored on any day. This leaves 8 MiB of a total of 64 MiB for growth of the file that is not
counted here. The volume suffices for 100,000 jobs, most of them in the short form.
"""
SHORT_BELOW_BYTES = 20 * 2**20
"""If fewer bytes than this are left of a uid's allowance, decisions for this uid are stored in the short form.

A typical decision in full takes about 6.4 KB. The 8 MiB above this limit hold 1,300 of them at once, and the daily
28 MiB hold 4,500.
"""
EVIDENCE_BYTES = 2 * 2**20
"""Bytes reserved for reports, and for decisions with a place in a block, because both are needed to measure gains."""
ROW_BYTES = 320
"""Bytes that a decision's numbers and index entries take in the file, in addition to its texts (measured: 260 to 310).
"""
OUTCOME_BYTES = 256
"""Bytes that a report takes in the file (measured: 190 to 240)."""
DAY_S = 86_400.0

KEPT = ("user", "program", "job_name", "nodes", "tasks", "tasks_per_node", "partition", "account")
"""Keys of a job's metadata that the short form keeps, because jobs are compared, counted and searched by them."""
KEPT_CHARACTERS = 128
REASON_CHARACTERS = 160


class Volume:
    """The number of bytes that may still be stored for each uid. Only one thread at a time may use this object."""

    def __init__(self, allowance: Allowance | None = None) -> None:
        self._allowance = allowance or Allowance(AT_ONCE_BYTES, A_DAY_BYTES / DAY_S)
        self._throttle = Throttle()
        self.shortened = 0  # decisions that were stored in the short form
        self.unstored = 0  # decisions and reports that were not stored

    def takes_whole(self, uid: int, size: int) -> bool:
        """Deduct a complete decision of `size` bytes from the uid's volume; return False if too little is left."""
        return self._allowance.take(uid, size, keeping=SHORT_BELOW_BYTES)

    def takes_short(self, uid: int, size: int, *, is_evidence: bool) -> bool:
        """Deduct the short form of a decision from the uid's volume; log and return False if too little is left.

        Unless the decision is evidence (has a place in a block), EVIDENCE_BYTES must remain.
        """
        if not self._takes(uid, size, 0 if is_evidence else EVIDENCE_BYTES):
            return False
        self.shortened += 1
        self._throttle.warning(log, "stored-short", uid=uid, total=self.shortened)
        return True

    def takes_report(self, uid: int) -> bool:
        """Deduct a report from the uid's volume; log and return False if too little is left."""
        return self._takes(uid, OUTCOME_BYTES, 0)

    def _takes(self, uid: int, size: int, keeping: int) -> bool:
        if self._allowance.take(uid, size, keeping):
            return True
        self.unstored += 1
        self._throttle.warning(log, "not-stored", uid=uid, total=self.unstored)
        return False


def bytes_of(row: Mapping[str, Cell]) -> int:
    """Return the approximate size of a decision's row in the file, in bytes."""
    return ROW_BYTES + sum(len(cell) for cell in row.values() if isinstance(cell, str))


def short(decision: Decision, left_out: int) -> Decision:
    """Return the short form of a decision, without the scores of its fields and with only the metadata in KEPT.

    `left_out` is the size of the full metadata in bytes. This number is stored to show that metadata was left out.
    """
    job: dict[str, Any] = {key: _cut(decision.metadata.get(key)) for key in KEPT}
    return dataclasses.replace(
        decision,
        metadata={key: value for key, value in job.items() if value not in (None, "")} | {OMITTED: left_out},
        reason=decision.reason[:REASON_CHARACTERS],
        fields=(),
        alternatives=[{**one, "job": "", "why": ""} for one in decision.alternatives if one["used"]],
    )


def _cut(value: Any) -> Any:
    return value[:KEPT_CHARACTERS] if isinstance(value, str) else value
