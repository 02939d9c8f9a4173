# SPDX-License-Identifier: Apache-2.0
"""Build one rank's part of a mix from its recorded calls: requests become slots, times gaps, and repeats loops."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from reprise.tuner.proxy.folding import Folder
from reprise.tuner.proxy.mix import COMPUTE, Item

NOBODY = -1
"""The peer of a call that goes nowhere (MPI_PROC_NULL)."""


class RankBuilder:
    """Takes the calls of one rank as they were recorded and makes its program.

    Times are in seconds of one clock. What lies between the end of a call and the start of the next was computed. What
    a call took is not kept: that is what the replay finds out.
    """

    def __init__(self) -> None:
        self._folder = Folder()
        self._gap_s = 0.0
        self._last: float | None = None
        self._slots: dict[Hashable, int] = {}  # of requests under way
        self._free: list[int] = []
        self.left_out: Counter[str] = Counter()

    def begin(self, at: float) -> None:
        """Note when the rank began to run."""
        self._last = at

    def call(self, text: str, enter: float, leave: float) -> None:
        """Add a call that starts no request."""
        self._pass(enter, leave)
        self._push(text)

    def start(self, text: str, request: Hashable, enter: float, leave: float) -> None:
        """Add a call that starts a request."""
        self._pass(enter, leave)
        if request in self._slots:  # its end was not recorded: it was freed, or cancelled
            self.left_out["request"] += 1
            self._release(request)
        slot = heapq.heappop(self._free) if self._free else len(self._slots)
        self._slots[request] = slot
        self._push(f"{text} q={slot}")

    def complete(self, requests: Iterable[Hashable], enter: float, leave: float) -> None:
        """Add a call that found these requests done: by waiting, or by looking. None of them: it only took time."""
        self._pass(enter, leave)
        done = sorted(self._release(one) for one in requests if one in self._slots)
        if done:
            self._push(f"wait q={','.join(map(str, done))}")

    def skip(self, kind: str, enter: float, leave: float) -> None:
        """Pass over a call that a replay does not make."""
        self._pass(enter, leave)
        self.left_out[kind] += 1

    def idle(self, enter: float, leave: float) -> None:
        """Pass over a call that neither communicates nor computes."""
        self._pass(enter, leave)

    def program(self, end: float | None = None) -> list[Item]:
        """Return the rank's program. Requests that were never completed are waited for at its end."""
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
    """Bytes by rank as a mix writes them: equal neighbours as `TIMES*BYTES`."""
    parts: list[list[int]] = []
    for value in values:
        if parts and parts[-1][1] == value:
            parts[-1][0] += 1
        else:
            parts.append([1, value])
    return ",".join(str(value) if times == 1 else f"{times}*{value}" for times, value in parts)
