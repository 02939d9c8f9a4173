# SPDX-License-Identifier: Apache-2.0
"""Evidence of several users about one record: when it decides for all of them, and the weight of each. Pure.

A user's jobs decide for this user. A decision for all users takes several: either several users for whom the record is
quarantined, at least half of those that it was measured for, or the first blocks of many users together, a few of each.
No single user reaches either, whatever their jobs do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reprise.database.entities import Compared
from reprise.matcher.benefit.harm_test import PAIRS_FIRST

SEVERAL = 2
"""Users for whom a record must be quarantined before it may be quarantined for all."""
MEASURED_BLOCKS = PAIRS_FIRST
"""Blocks after which a record counts as measured for a user: those that a new record begins with."""
POOLED_BLOCKS = 2
"""Blocks of one user that count in the evidence of many.

Six of them, of three users who work together, raise it to 47 at most (1.9 to the sixth), and it takes 64.
"""


def decides_for_all(quarantined: int, measured: int) -> bool:
    """Return whether a record is quarantined for all, given the users with a quarantine and with measurements."""
    return quarantined >= SEVERAL and 2 * quarantined >= measured


def shared_out(blocks: Iterable[Sequence[Compared]]) -> Sequence[Sequence[Compared]]:
    """Return blocks such that no user has more than all others together, unless alone; a user's latest ones are kept.

    `blocks` are in the order of time, and so is the result.
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
