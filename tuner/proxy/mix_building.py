# SPDX-License-Identifier: Apache-2.0
"""Build one rank's part of a mix from its recorded calls, with slots for requests and gaps between calls."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from reprise.tuner.proxy.folding import Folder
from reprise.tuner.proxy.mix import COMPUTE, Item

NOBODY = -1
"""Peer of a call without a partner (MPI_PROC_NULL)."""


class RankBuilder:
    """Builds a rank's program from its recorded calls.

    All times are in seconds on the same clock. The time between the end of a call and the start of the next call counts
    as computation. The duration of a call is not stored, since the replay makes the same call, which takes its own
    time.
    """

    def __init__(self) -> None:
        self._folder = Folder()
        self._gap_s = 0.0
        self._last: float | None = None
        self._slots: dict[Hashable, int] = {}  # slot of each pending request
        self._free: list[int] = []
        self.left_out: Counter[str] = Counter()

    def begin(self, at: float) -> None:
        """Set the time at which the rank started."""
        self._last = at

    def call(self, text: str, enter: float, leave: float) -> None:
        """Add a call that starts no request."""
        self._pass(enter, leave)
        self._push(text)

    def start(self, text: str, request: Hashable, enter: float, leave: float) -> None:
        """Add a call that starts a request."""
        self._pass(enter, leave)
        # If an earlier request with the same id is still pending, it was freed or cancelled, so its completion was not
        # recorded.
        if request in self._slots:
            self.left_out["request"] += 1
            self._release(request)
        slot = heapq.heappop(self._free) if self._free else len(self._slots)
        self._slots[request] = slot
        self._push(f"{text} q={slot}")

    def complete(self, requests: Iterable[Hashable], enter: float, leave: float) -> None:
        """Add a call that waited or tested for requests; skip the call if it completed none."""
        self._pass(enter, leave)
        done = sorted(self._release(one) for one in requests if one in self._slots)
        if done:
            self._push(f"wait q={','.join(map(str, done))}")

    def skip(self, kind: str, enter: float, leave: float) -> None:
        """Skip a call that a replay cannot make, and count it in `left_out`."""
        self._pass(enter, leave)
        self.left_out[kind] += 1

    def idle(self, enter: float, leave: float) -> None:
        """Skip a call that a replay does not need; the call's duration does not count as computation."""
        self._pass(enter, leave)

    def program(self, end: float | None = None) -> list[Item]:
        """Return the rank's program, which ends at the time `end`, or with the last call if `end` is None.

        At its end, the program waits for requests whose completion was not recorded.
        """
        if end is not None:
            self._pass(end, end)
        if self._slots:
            self._push(f"wait q={','.join(map(str, sorted(self._slots.values())))}")
        elif self._gap_s > 0:
            self._push(COMPUTE)
        return self._folder.items()

    def _pass(self, enter: float, leave: float) -> None:
        if self._last is not None:
            self._gap_s += max(0.0, enter - self._last)
        self._last = max(leave, self._last or leave)

    def _push(self, text: str) -> None:
        self._folder.push(text, 1e6 * self._gap_s)
        self._gap_s = 0.0

    def _release(self, request: Hashable) -> int:
        slot = self._slots.pop(request)
        heapq.heappush(self._free, slot)
        return slot


def bytes_list(values: Sequence[int]) -> str:
    """Format the numbers of bytes by rank as in a mix file, with runs of equal values as `TIMES*BYTES`."""
    parts: list[list[int]] = []
    for value in values:
        if parts and parts[-1][1] == value:
            parts[-1][0] += 1
        else:
            parts.append([1, value])
    return ",".join(str(value) if times == 1 else f"{times}*{value}" for times, value in parts)
