# SPDX-License-Identifier: Apache-2.0
"""Make a mix from the traces that the witness wrote for the ranks of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy import witness_trace
from reprise.tuner.proxy.comm_indices import CommIndices, RankIndices
from reprise.tuner.proxy.mix import Item, Mix
from reprise.tuner.proxy.mix_building import NOBODY, RankBuilder, bytes_list
from reprise.tuner.proxy.mix_check import check
from reprise.tuner.proxy.trace_kinds import (
    COLLECTIVES,
    LOCAL,
    MAKING,
    MESSAGES,
    NEIGHBORHOOD,
    PREPARED,
    REDUCING,
    ROOTED,
)
from reprise.tuner.proxy.trace_origins import Key, define, origins
from reprise.tuner.proxy.wildcards import Comm, Origin
from reprise.tuner.proxy.witness_trace import NULL, SELF, WORLD, Event, Trace

INT_MAX = 2**31 - 1
NEIGHBORHOOD_TAG = 32767
"""Tag of the messages of neighborhood collectives: the largest that each MPI library allows, which few programs use."""


def mix_of(directory: Path) -> Mix:
    """Make a mix from all ranks' traces in a directory, and check it.

    Raises:
        ProxyError: A trace is missing, truncated or of another version, or the mix cannot be replayed.
    """
    paths = sorted(directory.glob("*.trace"))
    if not paths:
        raise ProxyError(f"{directory}: no trace: the program does not use MPI, or the witness was not loaded")
    traces = sorted((witness_trace.read(path) for path in paths), key=lambda trace: trace.rank)
    found = [trace.rank for trace in traces]
    if len(found) != traces[0].ranks or found != list(range(len(found))):
        raise ProxyError(
            f"{directory}: traces of ranks {found}, but {traces[0].ranks} ran: record one run of one MPI program, "
            "in an empty directory"
        )
    mix = joined(traces)
    check(mix)
    return mix


def joined(traces: Sequence[Trace], source: str = "witness") -> Mix:
    """Make a mix from all ranks' traces, given in order of rank, without checking it.

    `source`: kind of recording that the mix names as its source.
    """
    world = tuple(range(len(traces)))
    comms = CommIndices(world)
    found = origins(traces)
    ranks = [_Rank(trace.rank, world, comms, found) for trace in traces]
    programs = [rank.program(trace.events) for rank, trace in zip(ranks, traces, strict=True)]
    left_out = sum((rank.builder.left_out for rank in ranks), Counter[str]())
    spans = [trace.events[-1].leave - trace.events[0].enter for trace in traces if trace.events]
    return Mix(comms.members, programs, source, 1e-9 * max(spans, default=0), left_out)


class _Rank:
    """Converts one rank's events to the rank's program in the mix."""

    def __init__(
        self, rank: int, world: tuple[int, ...], comms: CommIndices, found: Mapping[Key, Origin] | None
    ) -> None:
        self.rank = rank
        self.builder = RankBuilder()
        self._known: dict[int, Comm] = {WORLD: (WORLD, world), SELF: (SELF, (rank,))}
        self._made: int | None = None  # number of the communicator that the next recorded call creates
        self._indices = RankIndices(comms, WORLD)
        self._origins = found
        self._prepared: dict[int, Event] = {}
        # requests in the mix for each request of a neighborhood collective
        self._parts: dict[int, list[Hashable]] = {}

    def program(self, events: Sequence[Event]) -> list[Item]:
        for place, event in enumerate(events):
            self._take(place, event)
        return self.builder.program()

    def _take(self, place: int, event: Event) -> None:
        kind, enter, leave = event.kind, 1e-9 * event.enter, 1e-9 * event.leave
        if kind == "comm_define":
            self._made = event.comm if define(self._known, event) else None
            return
        if kind.startswith(("wait", "test")):
            parts = [self._parts.pop(request, [request]) for request in event.values]
            self.builder.complete((part for each in parts for part in each), enter, leave)
        elif kind in ("start", "startall"):
            self._start(place, event)
        elif kind in PREPARED:
            self._prepared[event.request] = event
            self.builder.idle(enter, leave)
        elif not (self._is_inside(event) and self._communicate(place, event)):
            self._pass_over(kind, enter, leave)
        self._made = None

    def _pass_over(self, kind: str, enter: float, leave: float) -> None:
        """Add the time of a call that a replay does not make."""
        if kind.startswith(LOCAL):
            self.builder.idle(enter, leave)
        elif not kind.startswith("file_"):  # the time of file calls counts as computation before the next call
            self.builder.skip(kind, enter, leave)

    def _communicate(self, place: int, event: Event) -> bool:
        """Add a call on a communicator that includes the rank; return False if a replay does not make such calls."""
        kind = event.kind
        if called := MESSAGES.get(kind) or _collective(kind):
            self._make(self._text(place, event, called), event.request, event)
        elif kind in NEIGHBORHOOD and len(event.values) >= event.send_counts:
            self._exchange(event)
        elif kind in MAKING:
            self._make(self._making_text(event, MAKING[kind]), 0, event)
        elif kind == "comm_free" and len(self._members(event)) > 1:
            is_made = self._indices.is_made(event.comm)
            self._make(f"comm_free c={self._index(event)}" if is_made else "", 0, event)
            self._indices.free(event.comm)
        else:
            return False
        return True

    def _start(self, place: int, event: Event) -> None:
        for request in event.values or (event.request,):
            if one := self._prepared.get(request):
                text = self._text(place, one, PREPARED[one.kind])
                self._make(text and f"{text} u=1", request, event)

    def _exchange(self, event: Event) -> None:
        """Add a neighborhood collective as messages to and from the neighbors.

        If a rank is a neighbor several times, its messages may be received in another order than in the recorded run.
        Each of them is therefore received with the size of the largest.
        """
        out, neighbors = event.send_counts, len(event.values) // 2
        ranks, sizes = event.values[:neighbors], event.values[neighbors:]
        largest: dict[int, int] = {}
        for rank, size in zip(ranks[out:], sizes[out:], strict=True):
            largest[rank] = max(size, largest.get(rank, 0))
        texts = [("isend", rank, size) for rank, size in zip(ranks[:out], sizes[:out], strict=True)]
        texts += [("irecv", rank, largest[rank]) for rank in ranks[out:]]
        enter, leave = 1e-9 * event.enter, 1e-9 * event.leave
        keys: list[Hashable] = []
        for called, rank, size in texts:
            if rank >= 0:
                keys.append(("neighbor", event.request, len(keys)))
                text = f"{called} c={self._index(event)} p={rank} t={NEIGHBORHOOD_TAG} n={size}"
                self.builder.start(text, keys[-1], enter, enter)
        if event.request:
            self._parts[event.request] = keys
            self.builder.idle(enter, leave)
        else:
            self.builder.complete(keys, enter, leave)

    def _make(self, text: str, request: int, event: Event) -> None:
        enter, leave = 1e-9 * event.enter, 1e-9 * event.leave
        if not text:
            self.builder.idle(enter, leave)
        elif request:
            self.builder.start(text, request, enter, leave)
        else:
            self.builder.call(text, enter, leave)

    def _is_inside(self, event: Event) -> bool:
        """Return whether the call's communicator is known and includes the rank.

        For an intercommunicator, the trace may define only the other group, which does not include the rank.
        """
        return self.rank in self._members(event)

    def _members(self, event: Event) -> tuple[int, ...]:
        return self._known[event.comm][1] if event.comm in self._known else ()

    def _index(self, event: Event) -> int:
        """Return the index of a call's communicator in the mix."""
        return self._indices.of(event.comm, self._members(event))

    def _making_text(self, event: Event, called: str) -> str:
        """Return a mix's text for a call that creates a communicator; empty if the parent has only one member.

        In the text, `m` is the index of the new communicator, or -1 if the rank does not use it. Ranks with equal `o`
        are its members, in order of `k`.
        """
        if len(self._members(event)) == 1:
            return ""
        text = f"{called} c={self._index(event)}"
        members = self._known[self._made][1] if self._made is not None else ()
        if self._made is None or self.rank not in members:
            return f"{text} m=-1 o=-1 k=0"
        index = self._indices.make(self._made, members) if len(members) > 1 else -1
        return f"{text} m={index} o={min(members)} k={members.index(self.rank)}"

    def _text(self, place: int, event: Event, called: str) -> str:
        """Return a mix's text for a call, or an empty string if the call exchanges nothing with other ranks."""
        members = self._members(event)
        name = called.removeprefix("i") if event.request else called
        if name in COLLECTIVES and len(members) == 1:
            return ""
        comm = self._index(event)
        if name in COLLECTIVES:
            return self._collective_text(event, called, name, comm, members)
        peer, tag = event.peer, event.tag
        source, source_tag = event.source, event.recv_tag
        if self._origins is not None and called in ("recv", "irecv", "sendrecv"):
            # A receive without an origin was cancelled, or its source is MPI_PROC_NULL.
            origin = self._origins.get((self.rank, place, event.request), (NULL, 0))
            if called == "sendrecv":
                source, source_tag = origin
            else:
                peer, tag = origin
        if called == "sendrecv":
            own = f"p={max(peer, NOBODY)} t={max(tag, 0)} n={event.send_bytes}"
            return f"sendrecv c={comm} {own} P={max(source, NOBODY)} T={max(source_tag, 0)} N={event.recv_bytes}"
        if peer == NULL:
            return ""
        size = event.recv_bytes if called in ("recv", "irecv") else event.send_bytes
        element = f" e={event.type_size}" if size > INT_MAX and event.type_size > 1 else ""
        return f"{called} c={comm} p={peer} t={max(tag, 0)} n={size}{element}"

    def _collective_text(self, event: Event, called: str, name: str, comm: int, members: tuple[int, ...]) -> str:
        own = members.index(self.rank)
        sent, received = event.values[: event.send_counts], event.values[event.send_counts :]
        size, lists, place = event.send_bytes, "", ""
        if name in ("alltoallv", "alltoallw"):
            called = called.replace("alltoallw", "alltoallv")
            lists = f" s={bytes_list(sent or received)} r={bytes_list(received)}"
            place = "" if sent else " i=1"
        elif name == "reduce_scatter":
            lists = f" r={bytes_list(sent or received)}"
        elif name in ("allgatherv", "gatherv") and received:
            size, lists = received[own], f" r={bytes_list(received)}"
        elif name == "scatterv":
            size, lists = (sent[own], f" s={bytes_list(sent)}") if sent else (event.recv_bytes, "")
        root = f" p={event.peer}" if name in ROOTED else ""
        sizes = f" n={size}" if name not in ("barrier", "alltoallv", "alltoallw", "reduce_scatter") else ""
        element = event.type_size
        # If the element size is unknown, use the largest of 8, 4 and 1 that divides all sizes.
        if not element and name in REDUCING:
            element = next(each for each in (8, 4, 1) if not any(one % each for one in (size, *event.values)))
        is_even = element > 1 and not any(one % element for one in (size, *event.values))
        return f"{called} c={comm}{root}{sizes}{f' e={element}' if is_even else ''}{lists}{place}"


def _collective(kind: str) -> str:
    """Return `kind` if it is a collective, blocking or (with prefix `i`) non-blocking; otherwise an empty string."""
    return kind if kind in COLLECTIVES or (kind.startswith("i") and kind[1:] in COLLECTIVES) else ""
