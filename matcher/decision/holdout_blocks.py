# SPDX-License-Identifier: Apache-2.0
"""Blocks of jobs, which determine which of the jobs that match a record are held out (get no settings).

A block is a few consecutive jobs of one user, with the same record and number of nodes. One job of the block, chosen at
random, is treated differently from the others. Thus every job that is held out can be compared with jobs that got the
settings at about the same time, so changes of the cluster's load matter little, and nobody can predict which job is
held out. A user's jobs take places only in this user's blocks, so that other users' requests cannot influence which
settings the jobs get. The functions are pure except for random numbers.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Hashable
from dataclasses import dataclass

PAIR = 2
USERS = 10_000
"""Most users with open blocks, about the number of users of a large site.

Beyond this limit, the open blocks of the user whose last job is the oldest are dropped, and stay incomplete.
"""
OPEN_BLOCKS = 100
"""Most open blocks of one user, some 30 kB. Beyond this limit, the oldest block is dropped and stays incomplete."""


@dataclass(frozen=True)
class Place:
    """A job's place in a block: the block's name, the jobs in a full block, and whether the job is held out."""

    block: str
    size: int
    held_out: bool


def pattern(share: float, *, in_doubt: bool, rng: random.Random) -> list[bool]:
    """Return the pattern of a new block: one entry per job, in random order, True if the job is to be held out.

    `share` is the share of jobs to hold out, above 0 and below 1. A block has a single job of the rarer kind; if no
    block size gives the exact share, two sizes alternate at random. `in_doubt` raises the share to at least a half.
    """
    if in_doubt:
        share = max(share, 0.5)
    wanted = round(1 / min(share, 1 - share), 9)  # 10 for 0.9, although 1 - 0.9 is slightly less than 0.1
    size = int(wanted) + (rng.random() < wanted % 1)
    rare = share <= 0.5 or size == PAIR
    jobs = [not rare] * size
    jobs[rng.randrange(size)] = rare
    return jobs


class Blocks:
    """Open blocks, which assign places to jobs in the order of their arrival.

    Open blocks are lost if the process ends, and stay incomplete.
    """

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng or secrets.SystemRandom()
        self._users: dict[int, dict[Hashable, tuple[str, int, list[bool]]]] = {}

    def place(self, uid: int, key: Hashable, name: str, share: float, *, in_doubt: bool) -> Place:
        """Return the place of the next job of user `uid`, opening a new block if necessary.

        Args: uid: User id of the job's owner, authenticated. key: Value that is equal for jobs that are compared with
        each other. name: Unique name for the block, in case this job begins a new one. share: Share of jobs to hold
        out, above 0 and below 1. in_doubt: Whether at least half of the jobs are held out, so that jobs are compared in
        pairs.
        """
        blocks = self._users[uid] = self._users.pop(uid, {})  # moves the user to the end: most recent
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
