# SPDX-License-Identifier: Apache-2.0
"""Bounded store of entries per uid. A user with many entries cannot push out other users' entries."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class FairStore(Generic[T]):
    """Store of at most `most` entries in total; if it is full, the uid with the most entries loses its oldest entry."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._of: dict[int, OrderedDict[str, T]] = {}

    def get(self, uid: int, key: str) -> T | None:
        """Return the uid's entry with this key; None if there is no such entry."""
        return self._of[uid].get(key) if uid in self._of else None

    def put(self, uid: int, key: str, value: T) -> None:
        """Add an entry as the uid's newest; it replaces an older entry with the same key."""
        self.pop(uid, key)
        self._of.setdefault(uid, OrderedDict())[key] = value
        self._count += 1
        if self._count > self._most:
            largest = max(self._of, key=lambda one: len(self._of[one]))
            self.pop(largest, next(iter(self._of[largest])))

    def pop(self, uid: int, key: str) -> T | None:
        """Remove and return the uid's entry with this key; None if there is no such entry."""
        entries = self._of.get(uid)
        if entries is None or key not in entries:
            return None
        self._count -= 1
        found = entries.pop(key)
        if not entries:
            del self._of[uid]
        return found
