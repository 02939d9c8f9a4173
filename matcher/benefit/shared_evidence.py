# SPDX-License-Identifier: Apache-2.0
"""Evidence of several users about one record: the weight of each user, and when it suffices for all users. Pure.

The evidence of one user's jobs can quarantine a record for this user only. A quarantine for all users needs the
evidence of several: either the record is quarantined for several users, who are at least half of the users for whom it
was measured, or the evidence suffices that pools the first blocks of many users, a few from each. No single user can
cause a quarantine for all, whatever this user's jobs do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reprise.database.entities import Compared
from reprise.matcher.benefit.harm_test import PAIRS_FIRST

SEVERAL = 2
"""Fewest users for whom a record must be quarantined before it may be quarantined for all users."""
MEASURED_BLOCKS = PAIRS_FIRST
"""Blocks after which a record counts as measured for a user: the number of pairs with which a new record begins."""
POOLED_BLOCKS = 2
"""Most blocks of one user in the pooled evidence of many users.

With this limit, six blocks of three users who collude raise the pooled evidence to at most 47 (1.9 to the sixth power),
less than the 64 that a verdict needs.
"""


def decides_for_all(quarantined: int, measured: int) -> bool:
    """Return whether a record is to be quarantined for all users.

    The arguments are the numbers of users for whom it is quarantined and for whom it was measured.
    """
    return quarantined >= SEVERAL and 2 * quarantined >= measured


def shared_out(blocks: Iterable[Sequence[Compared]]) -> Sequence[Sequence[Compared]]:
    """Return the blocks without the oldest of a user who has more than all other users together.

    This user keeps as many blocks as all others have. If there is only one user, all blocks are returned. Both `blocks`
    and the result are in the order of time.
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
