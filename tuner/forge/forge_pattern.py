# SPDX-License-Identifier: Apache-2.0
"""An I/O pattern to explore: the steps of each phase, and the number of forwarders (Bez 2020, section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Layout(IntEnum):
    """Position of requests in files; the values are those of `enum forge_layout` in forge_requests.h."""

    SHARED_CONTIGUOUS = 0
    SHARED_STRIDED = 1
    INDIVIDUAL = 2


class Operation(StrEnum):
    """Kind of a step."""

    OPEN = "open"
    WRITE = "write"
    READ = "read"
    CLOSE = "close"


@dataclass(frozen=True)
class Step:
    """A step that all clients take together. Sizes are in bytes, and 0 if the step moves no data.

    `path` is the shared file, or the prefix of individual files. `total_size` is the number of bytes that all clients
    move together, and `request_size` that of one request.
    """

    operation: Operation
    path: str
    layout: Layout
    total_size: int = 0
    request_size: int = 0


@dataclass(frozen=True)
class Phase:
    """Steps that are repeated."""

    repetitions: int
    steps: Sequence[Step]


@dataclass(frozen=True)
class Exploration:
    """Phases to run through a number of forwarders.

    `stone_wall` is the number of seconds after which a step stops, None if it moves all its data. `pause` is the mean
    number of seconds that each client waits before a request, None if it does not wait. `direct_io` opens files with
    O_DIRECT, and `validation` compares the data that was read with the data that was written.
    """

    forwarders: int
    phases: Sequence[Phase]
    direct_io: bool = False
    stone_wall: float | None = None
    validation: bool = False
    pause: float | None = None
