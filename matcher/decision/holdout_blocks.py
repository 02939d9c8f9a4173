# SPDX-License-Identifier: Apache-2.0
"""Which of the jobs that a record matches are held out.

Like is compared with like in blocks: a few jobs in a row of one user, one record and one number of nodes, of which one,
at random, is treated unlike the others. So every job that is held out has neighbours in time that were given the
settings, whatever happens to the cluster meanwhile, and nobody can tell beforehand which job it will be. A user's jobs
take places in this user's blocks alone, so nobody's requests have a part in what another user's jobs are given. Pure
but for chance.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Hashable
from dataclasses import dataclass

PAIR = 2
USERS = 10_000
"""Users whose blocks are kept open, as many as large sites have. Beyond, those of the user who asked longest ago are
left as they are."""
OPEN_BLOCKS = 100
"""Blocks of one user that are kept open, some 30 kB; of more, the one that was begun first is left as it is."""


@dataclass(frozen=True)
class Place:
    """A job's: its block, how many jobs that has once it is full, and whether it is held out."""

    block: str
    size: int
    held_out: bool


def pattern(share: float, *, in_doubt: bool, rng: random.Random) -> list[bool]:
    """The jobs of a new block, True for each that is held out, in random order.

    Share is how many are held out of all, above 0 and below 1; it is met by blocks with a single job of the rarer kind,
    of two sizes where none alone meets it. In doubt it is one of two at least.
    """
    if in_doubt:
        share = max(share, 0.5)
    wanted = round(1 / min(share, 1 - share), 9)  # 10, where 1 - 0.9 is a little less than a tenth
    size = int(wanted) + (rng.random() < wanted % 1)
    rare = share <= 0.5 or size == PAIR
    jobs = [not rare] * size
    jobs[rng.randrange(size)] = rare
    return jobs


class Blocks:
    """Deals places to jobs as they come. What it knows is lost with the process: blocks that are not full then stay
    so."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng or secrets.SystemRandom()
        self._users: dict[int, dict[Hashable, tuple[str, int, list[bool]]]] = {}

    def place(self, uid: int, key: Hashable, name: str, share: float, *, in_doubt: bool) -> Place:
        """The place of the next job of `uid`.

        Args:
            uid: Whose job it is, from whoever cannot lie about it.
            key: Equal for jobs that are alike.
            name: A unique name, which the block gets if this job begins one.
            share: How many jobs are held out of all, above 0 and below 1.
            in_doubt: Whether the record is to be compared one with one.
        """
        blocks = self._users[uid] = self._users.pop(uid, {})  # now the last
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
