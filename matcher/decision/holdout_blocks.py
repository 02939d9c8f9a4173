# SPDX-License-Identifier: Apache-2.0
"""Blocks of jobs, which determine which of the jobs that match a record are held out (get no settings).

A block is a few consecutive jobs of one user, with the same record and number of nodes. One job of the block, chosen at
random, is treated differently from the others. Thus every held-out job can be compared with jobs that got the settings
at about the same time, so changes of the cluster's load matter little. Nobody can predict which job is held out. A
user's jobs take places only in this user's blocks, so that other users' requests cannot influence which settings the
jobs get.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Hashable
from dataclasses import dataclass

PAIR = 2
USERS = 10_000
"""Maximum number of users with open blocks, about the number of users of a large site.

Beyond this limit, the open blocks of the user who has been inactive longest are dropped and stay incomplete.
"""
OPEN_BLOCKS = 100
"""Maximum number of one user's open blocks (some 30 kB); beyond it, the oldest is dropped and stays incomplete."""


@dataclass(frozen=True)
class Place:
    """A job's place in a block; `size` is the number of jobs of the full block."""

    block: str
    size: int
    held_out: bool


def pattern(share: float, *, in_doubt: bool, rng: random.Random) -> list[bool]:
    """Return a new block's pattern: for each job, in random order, an entry that is True if the job is to be held out.

    `share` is the share of jobs to hold out, above 0 and below 1. A block has a single job of the rarer kind (held out
    or not). If no block size gives the exact share, one of the two nearest sizes is chosen at random. `in_doubt` raises
    the share to at least a half.
    """
    if in_doubt:
        share = max(share, 0.5)
    wanted = round(1 / min(share, 1 - share), 9)  # rounded, since 1 - 0.9 is slightly less than 0.1
    size = int(wanted) + (rng.random() < wanted % 1)
    rare = share <= 0.5 or size == PAIR
    jobs = [not rare] * size
    jobs[rng.randrange(size)] = rare
    return jobs


class Blocks:
    """Open blocks, which assign places to jobs in the order in which the jobs arrive.

    If the process ends, open blocks are lost and stay incomplete.
    """

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng or secrets.SystemRandom()
        self._users: dict[int, dict[Hashable, tuple[str, int, list[bool]]]] = {}

    def place(self, uid: int, key: Hashable, name: str, share: float, *, in_doubt: bool) -> Place:
        """Return the place of the next job of user `uid`, opening a new block if necessary.

        `uid` is the authenticated user id of the job's owner. Jobs with equal values of `key` are compared with each
        other. `name` is a unique name, used only if this job begins a new block. `share` is the share of jobs to hold
        out in a new block, above 0 and below 1. If `in_doubt` is True, at least half of the jobs of a new block are
        held out, so that jobs are compared in pairs.
        """
        blocks = self._users[uid] = self._users.pop(uid, {})  # moves the user to the end, as the most recent one
        if len(self._users) > USERS:
            del self._users[next(iter(self._users))]
        if key in blocks:
            block, size, left = blocks[key]
        else:
            left = pattern(share, in_doubt=in_doubt, rng=self._rng)
            block, size = name, len(left)
            if len(blocks) >= OPEN_BLOCKS:
                del blocks[next(iter(blocks))]
        held_out = left.pop()
        if left:
            blocks[key] = block, size, left
        else:
            blocks.pop(key, None)
        return Place(block, size, held_out)
