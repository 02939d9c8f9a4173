# SPDX-License-Identifier: Apache-2.0
"""Synthetic OTF2 archives for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import otf2
from otf2.enums import CollectiveOp, GroupType, Paradigm

US = 1_000
"""Ticks of an archive's clock per microsecond."""
Call = tuple[str, tuple[tuple[Any, ...], ...]]
"""A function and the records within it; a record is the name of a method of the otf2 library and its arguments.

A communicator is a number: 0 is the world, and the others are those in `comms`.
"""


def call(function: str, *records: tuple[Any, ...]) -> Call:
    """Return a call of an MPI function, with the records that belong to it."""
    return function, records


def collective(name: str, comm: int, root: int, sent: int, received: int) -> Call:
    """Return a collective as EZTrace records it; a root of -1 means that the collective has no root."""
    op = getattr(CollectiveOp, name.upper())
    return call(f"MPI_{name.capitalize()}", ("mpi_collective_end", op, comm, root % 2**32, sent, received))


def write(
    directory: Path,
    *ranks: Sequence[Call],
    comms: Sequence[Sequence[int]] = (),
    creator: str = "",
    thread: Sequence[Call] = (),
) -> Path:
    """Write an archive with each rank's calls, which take 10 us and are 10 us apart, and return its anchor file.

    `comms` has the members of further communicators, and `thread` the calls of a second thread of rank 0.
    """
    with otf2.writer.open(str(directory / "trace"), timer_resolution=1_000_000_000) as trace:
        trace.creator = creator
        define = trace.definitions
        node = define.system_tree_node("node")
        everyone = [*ranks, thread] if thread else ranks
        locations = []
        for number, _ in enumerate(everyone):
            process = define.location_group(f"P{number}", system_tree_parent=node)
            locations.append(define.location(f"P{number}", group=process))
        if ranks:
            members = tuple(locations[: len(ranks)])
            define.group("ranks", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=members)
        made = [
            define.comm("c", define.group("g", GroupType.COMM_GROUP, Paradigm.MPI, members=tuple(members)))
            for members in (range(len(ranks)), *comms)
            if ranks
        ]
        functions = {name: define.region(name) for each in everyone for name, _ in each}
        functions["main"] = define.region("main")
        for location, calls in zip(locations, everyone, strict=True):
            _write(trace.event_writer_from_location(location), calls, functions, made)
    return directory / "trace/traces.otf2"


def _write(writer: Any, calls: Sequence[Call], functions: dict[str, Any], comms: Sequence[Any]) -> None:
    at = 0
    writer.enter(at, functions["main"])
    for function, records in calls:
        writer.enter(at + 10 * US, functions[function])
        for name, *values in records:
            place = {"mpi_collective_end": 1, "mpi_isend_complete": None}.get(name, 1 if len(values) > 1 else None)
            if place is not None:
                values[place] = comms[values[place]]
            getattr(writer, name)(at + 15 * US, *values)
        at += 20 * US
        writer.leave(at, functions[function])
    writer.leave(at + 10 * US, functions["main"])
