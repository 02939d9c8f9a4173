# SPDX-License-Identifier: Apache-2.0
"""How much of something each uid may use: so much at once, and so much a second from then on (a token bucket)."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

REMEMBERED = 16_384
"""Uids whose use is remembered, some 3 MiB; beyond, the quarter of them that used anything longest ago is forgotten, as
if they had used nothing."""


class Allowance:
    """Each uid has `most` at first, and gets `per_s` a second until it has that again. For one thread."""

    def __init__(self, most: float, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._per_s = per_s
        self._clock = clock
        self._left: dict[int, tuple[float, float]] = {}  # what was left, and when; who used it last is last

    def left(self, uid: int) -> float:
        """What the uid may use now."""
        found = self._left.get(uid)
        if found is None:
            return self._most
        left, at = found
        return min(self._most, left + (self._clock() - at) * self._per_s)

    def take(self, uid: int, amount: float, keeping: float = 0.0) -> bool:
        """Use `amount`, where so much is left and `keeping` besides; False, and nothing is used, where it is not."""
        left = self.left(uid) - amount
        if left < keeping:
            return False
        self._left.pop(uid, None)
        self._left[uid] = left, self._clock()
        if len(self._left) > REMEMBERED:
            for forgotten in list(islice(self._left, REMEMBERED // 4)):
                del self._left[forgotten]
        return True
