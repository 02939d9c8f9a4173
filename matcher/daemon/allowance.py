# SPDX-License-Identifier: Apache-2.0
"""A token bucket for each uid: an amount that it may use at once, and a rate at which the bucket refills."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

REMEMBERED = 16_384
"""Number of uids whose use is remembered, in some 3 MiB. If there are more, the least recently active quarter is
forgotten, and its buckets are full again."""


class Allowance:
    """A bucket for each uid, which holds `most` at first and refills by `per_s` a second. For one thread."""

    def __init__(self, most: float, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._per_s = per_s
        self._clock = clock
        self._left: dict[int, tuple[float, float]] = {}  # amount left, and when; most recently active last

    def left(self, uid: int) -> float:
        """Return the amount that the uid may use now."""
        found = self._left.get(uid)
        if found is None:
            return self._most
        left, at = found
        return min(self._most, left + (self._clock() - at) * self._per_s)

    def take(self, uid: int, amount: float, keeping: float = 0.0) -> bool:
        """Use `amount` if that leaves at least `keeping`; otherwise use nothing and return False."""
        left = self.left(uid) - amount
        if left < keeping:
            return False
        self._left.pop(uid, None)
        self._left[uid] = left, self._clock()
        if len(self._left) > REMEMBERED:
            for forgotten in list(islice(self._left, REMEMBERED // 4)):
                del self._left[forgotten]
        return True
