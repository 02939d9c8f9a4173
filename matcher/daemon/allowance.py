# SPDX-License-Identifier: Apache-2.0
"""Token buckets that limit each uid to an amount that it may use at once, and to a rate at which its bucket refills."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

REMEMBERED = 16_384
"""Most uids whose use is remembered, in some 3 MiB.

Beyond this number, the least recently active quarter is forgotten, so that these uids' buckets are full again.
"""


class Allowance:
    """One bucket per uid, which contains `most` at first and refills by `per_s` a second. One thread may use it."""

    def __init__(self, most: float, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._per_s = per_s
        self._clock = clock
        self._left: dict[int, tuple[float, float]] = {}  # amount left, and the time of that; last active uid last

    def left(self, uid: int) -> float:
        """Return the amount that the uid may use now."""
        found = self._left.get(uid)
        if found is None:
            return self._most
        left, at = found
        return min(self._most, left + (self._clock() - at) * self._per_s)

    def take(self, uid: int, amount: float, keeping: float = 0.0) -> bool:
        """Subtract `amount` and return True, if at least `keeping` remains; otherwise return False."""
        left = self.left(uid) - amount
        if left < keeping:
            return False
        self._left.pop(uid, None)
        self._left[uid] = left, self._clock()
        if len(self._left) > REMEMBERED:
            for forgotten in list(islice(self._left, REMEMBERED // 4)):
                del self._left[forgotten]
        return True
