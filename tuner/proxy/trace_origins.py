# SPDX-License-Identifier: Apache-2.0
"""Find the senders and tags of received messages in runs whose receives accept any source or any tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reprise.tuner.proxy.trace_kinds import MESSAGES, PREPARED
from reprise.tuner.proxy.wildcards import Comm, Origin, Posted, Sent, resolve
from reprise.tuner.proxy.witness_trace import ANY, NULL, SELF, WORLD, Event, Trace

NEVER = 2**63
Key = tuple[int, int, int]
"""Identifies a receive by its rank, the index of its call in the rank's events, and its request."""


def origins(traces: Sequence[Trace]) -> Mapping[Key, Origin] | None:
    """Return each received message's sender and tag, by receive; None if every receive names its source and tag."""
    if not any(
        one.kind in MESSAGES and ANY in (one.peer, one.tag, one.source, one.recv_tag)
        for trace in traces
        for one in trace.events
    ):
        return None
    sends: list[Sent] = []
    receives: list[Posted[Key]] = []
    for trace in traces:
        rank = _Rank(trace.rank, len(traces))
        rank.take(trace.events)
        sends += rank.sends
        receives += rank.receives
    return resolve(sends, receives, anybody=ANY)


class _Rank:
    """Collects the sends and receives of one rank."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.sends: list[Sent] = []
        self.receives: list[Posted[Key]] = []
        self._rank = rank
        self._known: dict[int, Comm] = {WORLD: (WORLD, tuple(range(ranks))), SELF: (SELF, (rank,))}
        self._under_way: dict[int, int] = {}  # index of each pending receive in `receives`, by request

    def take(self, events: Sequence[Event]) -> None:
        for place, one, event in _messages(events, self._known):
            if one is None:
                self._complete(event)
            elif self._rank in self._known.get(one.comm, (0, ()))[1]:
                self._message(place, one, event)

    def _complete(self, event: Event) -> None:
        for request in event.values:
            if request in self._under_way:
                place = self._under_way.pop(request)
                self.receives[place] = replace(self.receives[place], over_at=event.leave)

    def _message(self, place: int, one: Event, event: Event) -> None:
        comm = self._known[one.comm]
        own = comm[1].index(self._rank)
        kind = MESSAGES[one.kind]
        key = self._rank, place, one.request
        if kind not in ("recv", "irecv") and one.peer != NULL:
            self.sends.append(Sent(comm, own, one.peer, one.tag, event.enter))
        if kind == "sendrecv" and one.source != NULL:
            self.receives.append(Posted(comm, own, one.source, one.recv_tag, event.enter, event.leave, key))
        if kind == "irecv" and one.peer != NULL:
            self._under_way[one.request] = len(self.receives)
            self.receives.append(Posted(comm, own, one.peer, one.tag, event.enter, NEVER, key))
        if kind == "recv" and one.peer != NULL:
            self.receives.append(Posted(comm, own, one.peer, one.tag, event.enter, event.leave, key))


def _messages(events: Sequence[Event], known: dict[int, Comm]) -> Iterator[tuple[int, Event | None, Event]]:
    """Yield, for each message, its call's index, the call that gives its peer and tag, and the call that started it.

    The two calls differ only for persistent requests: an init call has the peer and the tag, and a start call starts
    the message. Calls that complete requests are yielded, too, with None instead of a call with peer and tag.
    """
    prepared: dict[int, Event] = {}
    for place, event in enumerate(events):
        if event.kind == "comm_define":
            define(known, event)
        elif event.kind in PREPARED:
            prepared[event.request] = event
        elif event.kind in ("start", "startall"):
            for request in event.values or (event.request,):
                if request in prepared:
                    yield place, prepared[request], event
        elif event.kind in MESSAGES:
            yield place, event, event
        elif event.values and event.kind.startswith(("wait", "test")):
            yield place, None, event


def define(known: dict[int, Comm], event: Event) -> bool:
    """If an event defines a communicator, add it to `known` with the identifier that is equal on all its members.

    Return whether it was added; MPI_COMM_WORLD and MPI_COMM_SELF are not added.
    """
    if event.comm <= SELF:
        return False
    known[event.comm] = event.send_bytes, tuple(event.values)
    return True
