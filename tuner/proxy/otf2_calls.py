# SPDX-License-Identifier: Apache-2.0
"""Convert one rank's records in an OTF2 archive to events as in the witness's traces.

A call consists of an MPI function and the records between its start and its end. An archive is rejected if it has a
call that sends or receives but has no record of the data, since such a call cannot be replayed.
"""

from __future__ import annotations

from dataclasses import replace

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.otf2_archive import Definitions, Record
from reprise.tuner.proxy.trace_kinds import (
    BOTH,
    COLLECTIVES,
    COUNTED,
    ISENDS,
    LOCAL,
    RECEIVES,
    ROOTED,
    SENDS,
    WHOLE,
)
from reprise.tuner.proxy.witness_trace import NONE, NULL, WORLD, Event

LEFT_OUT = ("win_", "neighbor_", "ineighbor_")
ONE_SIDED = frozenset(
    f"{request}{call}" for request in ("", "r") for call in ("put", "get", "accumulate", "get_accumulate")
) | {"fetch_and_op", "compare_and_swap"}
"""Calls that communicate but cannot be replayed, in addition to calls with a prefix in LEFT_OUT."""
FIRST_MADE = 3
"""Number of the first communicator other than MPI_COMM_WORLD and MPI_COMM_SELF."""

Counted = tuple[int, Record]
"""A call for which the archive lacks per-rank byte counts: its index in the rank's events, and its record."""


class RankCalls:
    """Converts one rank's records to events.

    `events` are the rank's calls. The calls listed in `counted` still lack their per-rank byte counts.
    """

    def __init__(self, rank: int, definitions: Definitions) -> None:
        self.events: list[Event] = []
        self.counted: list[Counted] = []
        self._rank = rank
        self._comms = definitions.comms
        self._ns = 1e9 / definitions.ticks_per_s
        self._world = tuple(range(len(definitions.ranks)))
        world = next((number for number, members in self._comms.items() if members == self._world), None)
        # communicators' numbers in the events, by their numbers in the archive
        self._numbers = {} if world is None else {world: WORLD}
        # index of the event and number in the events for each pending request, by the request's id in the archive
        self._under_way: dict[int, tuple[int, int]] = {}
        self._requests = 0
        self._inside: list[str] = []
        self._entered = 0
        self._records: list[Record] = []
        self._first: int | None = None
        self._last = 0
        self._name = ""  # name of the most recently called function, for error messages

    def take(self, record: Record) -> None:
        """Process the next record.

        Raise ProxyError if the record cannot be replayed.
        """
        self._first = record.time if self._first is None else self._first
        self._last = record.time
        if record.kind not in ("enter", "leave"):
            if not self._inside:
                raise self._wrong(f"{record.kind} outside of an MPI function")
            self._records.append(record)
        elif record.function and record.kind == "enter":
            if not self._inside:
                self._entered = record.time
            self._inside.append(record.function)
        elif record.function:
            if not self._inside or self._inside.pop() != record.function:
                raise self._wrong(f"MPI_{record.function.capitalize()} ends without a start")
            if not self._inside:
                self._call(record.function)
                self._records.clear()

    def end(self) -> None:
        """Complete the events after the last record.

        Raise ProxyError if the completion of a message or the end of a call was not recorded.
        """
        if self._under_way:
            first = self.events[min(place for place, _ in self._under_way.values())]
            raise self._wrong(f"no completion of MPI_{first.kind.capitalize()} (EZTrace 2.0 records none)")
        if self._inside:
            raise self._wrong(f"MPI_{self._inside[0].capitalize()} does not end: the program was killed")
        if self._first is not None:
            head = [self._moment("init", self._first)]
            for comm, number in self._numbers.items():
                if number != WORLD:
                    members = self._comms[comm]
                    head.append(replace(head[0], kind="comm_define", comm=number, send_bytes=comm, values=members))
            self.events = [*head, *self.events, self._moment("finalize", self._last)]
            self.counted = [(place + len(head), record) for place, record in self.counted]

    def _call(self, kind: str) -> None:
        self._name = f"MPI_{kind.capitalize()}"
        event = self._event(kind)
        if kind in ("init", "init_thread"):
            self._first = self._last
        elif kind in SENDS:
            self.events.append(self._sent(event, self._one("send")))
        elif kind in ISENDS:
            self._start(event, self._one("isend"))
        elif kind in RECEIVES:
            self._receive(event)
        elif kind in BOTH:
            self._exchange(event, self._one("send"), self._one("recv"))
        elif kind.removeprefix("i") in COLLECTIVES:  # non-blocking collectives have no record, so they are rejected
            self._collective(event, self._one(kind))
        elif kind in ("start", "startall"):
            self._start_again(event)
        elif kind in ONE_SIDED or kind.startswith((*LOCAL, *LEFT_OUT, "file_")):
            self.events.append(event)
        self._complete(event)

    def _complete(self, event: Event) -> None:
        """Add an event for the requests that completed in a call."""
        done = []
        for record in self._records:
            if record.kind not in ("isend_complete", "irecv", "cancelled"):
                continue
            if record.request not in self._under_way:
                raise self._wrong(f"completion of request {record.request}, which was not started")
            place, number = self._under_way.pop(record.request)
            done.append(number)
            if record.kind == "irecv":
                self.events[place] = self._received(self.events[place], record)
            elif record.kind == "cancelled":
                self.events[place] = replace(self.events[place], peer=NULL)
        if done:
            self.events.append(replace(event, kind="waitall", values=tuple(done)))
        elif event.kind.startswith(("wait", "test")):
            last = self.events[-1] if self.events else event
            # If the program polls, consecutive calls of one kind that complete no request become one event.
            if last.kind == event.kind and not last.values:
                self.events[-1] = replace(last, leave=event.leave)
            else:
                self.events.append(event)

    def _exchange(self, event: Event, send: Record, receive: Record) -> None:
        got = self._received(event, receive)
        sent = self._sent(event, send)
        self.events.append(replace(sent, source=got.peer, recv_tag=got.tag, recv_bytes=got.recv_bytes))

    def _receive(self, event: Event) -> None:
        if RECEIVES[event.kind] == "recv":
            self.events.append(self._received(event, self._one("recv")))
        else:
            self._start(event, self._one("irecv_request"))

    def _start(self, event: Event, record: Record) -> None:
        if record.request in self._under_way:
            raise self._wrong(f"no completion of {self._name} (EZTrace 2.0 records none)")
        self._requests += 1
        if record.kind == "isend":
            event = self._sent(event, record)
        self._under_way[record.request] = len(self.events), self._requests
        self.events.append(replace(event, request=self._requests))

    def _start_again(self, event: Event) -> None:
        """Add persistent messages as if they were initialized before each start."""
        for record in self._records:
            if record.kind in ("isend", "irecv_request"):
                kind = "send_init" if record.kind == "isend" else "recv_init"
                self._start(replace(event, kind=kind), record)
                self.events.append(replace(event, kind="start", request=self._requests))

    def _collective(self, event: Event, record: Record) -> None:
        comm = self._comm(record)
        members = self._comms[record.comm]
        root = record.peer if event.kind in ROOTED else NONE
        if event.kind in ROOTED and not 0 <= root < len(members):
            raise self._wrong(f"{self._name} with root {root} among {len(members)} ranks")
        if self._rank not in members:
            raise self._wrong(f"{self._name} on a communicator that does not include the rank")
        is_root = event.kind in ROOTED and members[root] == self._rank
        if event.kind in COUNTED:
            self.counted.append((len(self.events), record))
        size = _bytes(event.kind, record, is_root)
        self.events.append(replace(event, comm=comm, peer=root, send_bytes=size, recv_bytes=record.received))

    def _one(self, kind: str) -> Record:
        """Return the call's only record of a kind; raise ProxyError if there is not exactly one."""
        found = [record for record in self._records if record.kind == kind]
        if len(found) != 1:
            raise self._wrong(f"no record of the data that {self._name} sends or receives")
        return found[0]

    def _sent(self, event: Event, record: Record) -> Event:
        comm = self._comm(record)
        return replace(event, comm=comm, peer=self._peer(record), tag=record.tag, send_bytes=record.sent)

    def _received(self, event: Event, record: Record) -> Event:
        comm = self._comm(record)
        return replace(event, comm=comm, peer=self._peer(record), tag=record.tag, recv_bytes=record.received)

    def _peer(self, record: Record) -> int:
        """Return the peer's rank in the communicator, or NULL if the record's peer is not a rank in it.

        Such a peer is MPI_PROC_NULL, whose number depends on the MPI implementation.
        """
        return record.peer if record.peer < len(self._comms[record.comm]) else NULL

    def _comm(self, record: Record) -> int:
        """Return the number that this rank's events use for the communicator of a record."""
        if record.comm not in self._comms:
            raise self._wrong(f"communicator {record.comm} is not defined in the archive")
        return self._numbers.setdefault(record.comm, FIRST_MADE + len(self._numbers))

    def _event(self, kind: str) -> Event:
        """Return an event lasting from the current function's entry to the last record, with all other fields unset."""
        enter, leave = round(self._entered * self._ns), round(self._last * self._ns)
        return Event(kind, enter, leave, 0, 0, NONE, NONE, NONE, NONE, NONE, 0, 0, 0, 0, ())

    def _moment(self, kind: str, ticks: int) -> Event:
        at = round(ticks * self._ns)
        return replace(self._event(kind), enter=at, leave=at)

    def _wrong(self, what: str) -> ProxyError:
        return ProxyError(f"rank {self._rank} of the trace: {what}: use `reprise tune record` without --trace")


def _bytes(kind: str, record: Record, is_root: bool) -> int:
    """Return the number of bytes of a collective, counted as in a mix.

    The numbers of bytes in the archive are counts that EZTrace multiplied by the sizes of the data types. A count that
    is not significant on a rank may have any value. With MPI_IN_PLACE, the number of bytes sent or received is 0.
    """
    if kind in WHOLE:
        return record.sent
    if kind.startswith("gather"):
        return record.received if is_root and not record.sent else record.sent
    if kind.startswith("scatter"):
        return record.sent if is_root else record.received
    return max(record.sent, record.received)
