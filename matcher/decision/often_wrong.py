# SPDX-License-Identifier: Apache-2.0
"""Kinds of matches that are often wrong, such as matches with another user's record or by a generic program name."""

from __future__ import annotations

from reprise.database.entities import Scope
from reprise.matcher.decision.known_records import Known
from reprise.matcher.submission.generic_names import is_generic


def is_often_wrong(record: Known, *, user: str, program: str) -> bool:
    """Return whether a match of `user`'s job with the record is of a kind that is often wrong.

    `program` is the name of the job's program, "" if unknown. For a record for the whole cluster, the result is False,
    because such a record is used without a comparison of two jobs.
    """
    if record.scope == Scope.CLUSTER:
        return False
    return record.user != user or not program or is_generic(program)
