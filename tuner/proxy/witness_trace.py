# SPDX-License-Identifier: Apache-2.0
"""Read the trace files that the witness writes if REPRISE_WITNESS_TRACE is set.

`tuner/programs/witness/trace_format.h` describes the format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprise.tuner.errors import ProxyError

MAGIC = b"RPRTRACE"
TRACE_VERSION = 2
NAME_BYTES = 32
HEADER = struct.Struct("=8sIIIiiI64s")
EVENT = struct.Struct("=QQQQIiiiiIIIHHI")

NONE, ANY, NULL = -1, -2, -3  # special values of a rank or a tag
WORLD, SELF = 1, 2  # numbers of the communicators that no trace defines


@dataclass(frozen=True, slots=True)
class Event:
    """One call of a rank, with times in nanoseconds; `trace_format.h` defines what `values` means for each kind."""

    kind: str
    enter: int
    leave: int
    send_bytes: int
    recv_bytes: int
    comm: int
    peer: int
    tag: int
    source: int
    recv_tag: int
    request: int
    send_counts: int
    thread: int
    type_size: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """One rank's events, in the order in which their calls returned."""

    rank: int
    ranks: int
    events: Sequence[Event]


def read(path: Path) -> Trace:
    """Read one rank's trace; an incomplete event at the end of the file is ignored.

    Raises:
        ProxyError: The file cannot be read, or is not a trace of this version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProxyError(f"{path}: the trace cannot be read: {error.strerror}") from error
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise ProxyError(f"{path}: not a trace of the witness")
    _, version, header_bytes, kinds, rank, ranks, _, _ = HEADER.unpack_from(data)
    if header_bytes + kinds * NAME_BYTES > len(data):
        raise ProxyError(f"{path}: truncated before its first call: the program was killed, or the disk is full")
    if version != TRACE_VERSION:
        raise ProxyError(
            f"{path}: a trace of version {version}, not {TRACE_VERSION}: install one release of Reprise on all nodes"
        )
    first = header_bytes + kinds * NAME_BYTES
    names = [
        data[at : at + NAME_BYTES].split(b"\0")[0].decode("ascii", "replace")
        for at in range(header_bytes, first, NAME_BYTES)
    ]
    return Trace(rank, ranks, list(_events(data, first, names)))


def _events(data: bytes, at: int, names: Sequence[str]) -> Iterator[Event]:
    while at + EVENT.size <= len(data):
        (
            enter,
            leave,
            sent,
            received,
            comm,
            peer,
            tag,
            source,
            recv_tag,
            request,
            values,
            send_counts,
            kind,
            thread,
            size,
        ) = EVENT.unpack_from(data, at)
        at += EVENT.size
        if at + 8 * values > len(data) or kind >= len(names):
            return
        more = struct.unpack_from(f"={values}q", data, at)
        at += 8 * values
        yield Event(
            names[kind],
            enter,
            leave,
            sent,
            received,
            comm,
            peer,
            tag,
            source,
            recv_tag,
            request,
            send_counts,
            thread,
            size,
            more,
        )
