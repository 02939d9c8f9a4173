# SPDX-License-Identifier: Apache-2.0
"""Cut a mix into independent segments, and make a shorter mix from a sample of them.

A cut between two segments follows a collective that all ranks called. At a cut, no request is pending, every message
sent has been received, and every other collective has been called by all members of its communicator. A segment can
therefore be omitted without any effect on the other segments.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from reprise.tuner.proxy.folding import fold
from reprise.tuner.proxy.mix import COMPUTE, Call, Mix, expand, keys_of, kind_of

RECEIVES = frozenset(["recv", "irecv"])
SENDS = frozenset(["send", "ssend", "isend", "issend"])


@dataclass(frozen=True)
class Segment:
    """Calls of all ranks between two cuts.

    `alike` is a hash that is equal for segments of the same shape: on each communicator, for each kind of call, the
    number of calls differs by less than a factor of 2, and so does the number of bytes. `is_needed`: other segments
    depend on the segment, because it creates a communicator without freeing it, or frees one that it did not create.
    """

    calls: Sequence[Sequence[Call]]
    alike: int
    is_needed: bool


def sampled(mix: Mix, share: float) -> Mix:
    """Return a mix with the given share of the segments of each shape, at least one, spread evenly over the run."""
    segments = list(segments_of(mix))
    totals = Counter(segment.alike for segment in segments)
    seen: Counter[int] = Counter()
    kept = []
    for segment in segments:
        total, place = totals[segment.alike], seen[segment.alike]
        seen[segment.alike] += 1
        wanted = max(1, round(share * total))
        if segment.is_needed or (2 * (place + 1) * wanted + total) // (2 * total) > (2 * place * wanted + total) // (
            2 * total
        ):
            kept.append(segment)
    programs = [fold((call.text, call.gap_us) for one in kept for call in one.calls[rank]) for rank in range(mix.ranks)]
    return replace(mix, programs=programs)


def segments_of(mix: Mix) -> Iterator[Segment]:
    """Cut a mix into as many segments as possible.

    The whole mix is one segment if the ranks do not call the collectives that include all ranks in the same order.
    """
    calls = [list(expand(program)) for program in mix.programs]
    whole = {index for index, members in enumerate(mix.comms) if len(members) == mix.ranks}
    meetings = [
        [(place, kind_of(call.text)) for place, call in enumerate(each) if _meets(call.text, whole)] for each in calls
    ]
    if len({tuple(kind for _, kind in each) for each in meetings}) > 1:
        meetings = [[] for _ in calls]
    cuts = [[place + 1 for place, _ in each] for each in zip(*meetings, strict=True)]
    balance = _Balance(mix)
    begun = at = [0] * mix.ranks
    ends = [len(each) for each in calls]
    for cut in [*cuts, ends]:
        for rank, (first, last) in enumerate(zip(at, cut, strict=True)):
            for call in calls[rank][first:last]:
                balance.take(rank, call.text)
        at = cut
        if (balance.is_even() or cut is ends) and begun != cut:
            parts = [each[first:last] for each, first, last in zip(calls, begun, cut, strict=True)]
            yield Segment(parts, _shape(parts), balance.is_needed())
            begun = cut


def _meets(text: str, whole: set[int]) -> bool:
    """Return whether a call is a blocking collective that includes all ranks."""
    kind, keys = _parsed(text)
    is_message = kind in SENDS or kind in RECEIVES or kind in ("sendrecv", "wait", COMPUTE, "comm_free")
    return not is_message and "q" not in keys and int(keys["c"]) in whole


@lru_cache(maxsize=65536)
def _parsed(text: str) -> tuple[str, dict[str, str]]:
    return kind_of(text), keys_of(text)


def _shape(parts: Sequence[Sequence[Call]]) -> int:
    """Return a hash that is equal for segments of the same shape.

    Such segments make calls of the same kinds on the same communicators. For each kind and communicator, the numbers of
    calls lie between the same two powers of 2, and so do the bytes.
    """
    calls: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for part in parts:
        for call in part:
            kind, keys = _parsed(call.text)
            calls[kind, keys.get("c", "")] += 1
            sizes[kind, keys.get("c", "")] += int(keys.get("n", "0"))
    return hash(tuple(sorted((*key, count.bit_length(), sizes[key].bit_length()) for key, count in calls.items())))


class _Balance:
    """Tracks the messages, requests and collectives that are pending after the calls processed so far."""

    def __init__(self, mix: Mix) -> None:
        self._places = [{rank: place for place, rank in enumerate(members)} for members in mix.comms]
        # Number of messages sent but not received, by channel. A channel without such messages has no entry.
        self._messages: Counter[tuple[int, int, int, int]] = Counter()
        self._requests: set[tuple[int, int]] = set()
        # Number of collectives that were called so far, by communicator and rank.
        self._called: dict[int, Counter[int]] = defaultdict(Counter)
        self._uneven: set[int] = set()
        self._made: set[tuple[int, int]] = set()
        self._needed = False

    def take(self, rank: int, text: str) -> None:
        """Process a rank's next call."""
        kind, keys = _parsed(text)
        if kind == COMPUTE:
            return
        if kind == "wait":
            self._requests.difference_update((rank, int(slot)) for slot in keys["q"].split(","))
            return
        if "q" in keys:
            self._requests.add((rank, int(keys["q"])))
        comm = int(keys["c"])
        own = self._places[comm][rank]
        if kind in SENDS or kind == "sendrecv":
            self._message((comm, own, int(keys["p"]), int(keys["t"])), 1)
        if kind in RECEIVES:
            self._message((comm, int(keys["p"]), own, int(keys["t"])), -1)
        elif kind == "sendrecv":
            self._message((comm, int(keys["P"]), own, int(keys["T"])), -1)
        elif kind not in SENDS:
            self._collective(rank, kind, comm, keys)

    def is_even(self) -> bool:
        """Return whether no message, request or collective is pending."""
        return not self._messages and not self._requests and not self._uneven

    def is_needed(self) -> bool:
        """Return whether a communicator was created or freed, but not both, since this method was last called."""
        needed = self._needed or bool(self._made)
        self._needed = False
        self._made.clear()
        return needed

    def _message(self, channel: tuple[int, int, int, int], change: int) -> None:
        if min(channel[1:3]) < 0:
            return
        self._messages[channel] += change
        if not self._messages[channel]:
            del self._messages[channel]

    def _collective(self, rank: int, kind: str, comm: int, keys: dict[str, str]) -> None:
        if kind == "comm_free":
            self._needed |= (rank, comm) not in self._made
            self._made.discard((rank, comm))
            return
        if int(keys.get("m", -1)) >= 0:
            self._made.add((rank, int(keys["m"])))
        called = self._called[comm]
        called[rank] += 1
        counts = {called[member] for member in self._places[comm]}
        if len(counts) == 1:
            self._uneven.discard(comm)
        else:
            self._uneven.add(comm)
