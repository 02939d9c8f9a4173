# SPDX-License-Identifier: Apache-2.0
"""Rules for combining the evidence of several users about one record, and for quarantining it for all users.

The evidence of one user's jobs can quarantine a record for this user only. A quarantine for all users needs the
evidence of several users. Either the record is quarantined for several users, who are at least half of the users for
whom it was measured, or the evidence pooled from the first few blocks of each user is sufficient. No single user can
cause a quarantine for all, whatever their jobs do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reprise.database.entities import Compared
from reprise.matcher.benefit.harm_test import PAIRS_FIRST

SEVERAL = 2
"""Minimum number of users for whom a record must be quarantined before it may be quarantined for all users."""
MEASURED_BLOCKS = PAIRS_FIRST
"""Number of blocks after which a record counts as measured for a user."""
POOLED_BLOCKS = 2
"""Maximum number of one user's blocks in the pooled evidence of many users.

With this limit, six blocks of three users who collude raise the pooled evidence to at most 47 (1.9 to the sixth power),
less than the 64 that a verdict needs.
"""


def decides_for_all(quarantined: int, measured: int) -> bool:
    """Return whether a record is to be quarantined for all users.

    The arguments are the number of users for whom the record is quarantined, and the number for whom it was measured.
    """
    return quarantined >= SEVERAL and 2 * quarantined >= measured


def shared_out(blocks: Iterable[Sequence[Compared]]) -> Sequence[Sequence[Compared]]:
    """Return the blocks, but drop the oldest blocks of a user who has more than all other users together.

    This user keeps as many blocks as all other users have together. If there is only one user, all blocks are returned.
    Both `blocks` and the result are in chronological order.
    """
    given = list(blocks)
    counts = Counter(block[0].uid for block in given)
    if len(counts) < 2:
        return given
    (most, count), *_ = counts.most_common(1)
    beyond = count - (len(given) - count)
    if beyond <= 0:
        return given
    kept = []
    for block in given:
        if block[0].uid == most and beyond > 0:
            beyond -= 1
            continue
        kept.append(block)
    return kept
