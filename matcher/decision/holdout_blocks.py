# SPDX-License-Identifier: Apache-2.0
"""Blocks of jobs that choose, among the jobs that a record matches, those that are held out.

Jobs are compared in blocks: a few consecutive jobs of one user, one record and one number of nodes; one of them, chosen
at random, is treated differently from the others. So every job that is held out has neighbours in time with the
settings, whatever happens to the cluster meanwhile, and nobody can predict which job it will be. A user's jobs only
take places in this user's blocks, so no other user's requests can influence what they get. Pure except for chance.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Hashable
from dataclasses import dataclass

PAIR = 2
USERS = 10_000
"""Users with open blocks, as many as large sites have. Beyond, the blocks of the least recent user stay incomplete."""
OPEN_BLOCKS = 100
"""Open blocks of one user, some 30 kB; beyond, the block that was begun first stays incomplete."""


@dataclass(frozen=True)
class Place:
    """A job's place: its block, the number of jobs in the full block, and whether the job is held out."""

    block: str
    size: int
    held_out: bool


def pattern(share: float, *, in_doubt: bool, rng: random.Random) -> list[bool]:
    """Return the jobs of a new block, in random order; True for each that is held out.

    `share`: share of jobs to hold out, above 0 and below 1. Blocks have a single job of the rarer kind; if no block
    size gives the exact share, two sizes alternate at random. `in_doubt`: the share is at least a half.
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
    """Assigns places to jobs as they come. Open blocks are lost with the process, and stay incomplete."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng or secrets.SystemRandom()
        self._users: dict[int, dict[Hashable, tuple[str, int, list[bool]]]] = {}

    def place(self, uid: int, key: Hashable, name: str, share: float, *, in_doubt: bool) -> Place:
        """Return the place of the next job of `uid`.

        Args:
            uid: Owner of the job, authenticated.
            key: Equal for jobs that are compared with each other.
            name: A unique name, which the block gets if this job begins one.
            share: Share of jobs to hold out, above 0 and below 1.
            in_doubt: Whether the record's jobs are compared one with one.
        """
        blocks = self._users[uid] = self._users.pop(uid, {})  # now the most recent
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
