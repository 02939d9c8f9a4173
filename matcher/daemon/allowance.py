# SPDX-License-Identifier: Apache-2.0
"""Limits on what each uid may use at once and per second, implemented as token buckets."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

REMEMBERED = 16_384
"""Maximum number of uids whose buckets are kept in memory, at some 3 MiB in total.

If there are more, the quarter of the uids that were least recently active is forgotten. The buckets of forgotten uids
are full again.
"""


class Allowance:
    """Token buckets, one per uid. A bucket starts at `most` and refills by `per_s` a second. Not thread-safe."""

    def __init__(self, most: float, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._per_s = per_s
        self._clock = clock
        # {uid: (amount left, time at which this amount was computed)}; the most recently used bucket comes last
        self._left: dict[int, tuple[float, float]] = {}

    def left(self, uid: int) -> float:
        """Return the amount that the uid may use now."""
        found = self._left.get(uid)
        if found is None:
            return self._most
        left, at = found
        return min(self._most, left + (self._clock() - at) * self._per_s)

    def take(self, uid: int, amount: float, keeping: float = 0.0) -> bool:
        """Subtract `amount` and return True if at least `keeping` remains; otherwise only return False."""
        left = self.left(uid) - amount
        if left < keeping:
            return False
        self._left.pop(uid, None)
        self._left[uid] = left, self._clock()
        if len(self._left) > REMEMBERED:
            for forgotten in list(islice(self._left, REMEMBERED // 4)):
                del self._left[forgotten]
        return True
