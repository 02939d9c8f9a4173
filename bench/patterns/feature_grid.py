# SPDX-License-Identifier: Apache-2.0
"""Grid of the runs with which detectors are trained and validated (Bez 2020, section 3.2, scaled to one machine)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import AccessClass
from reprise.tuner.forge import forge_pattern
from reprise.tuner.forge.forge_pattern import Exploration, Layout, Phase, Step

PROCESSES = (8, 32, 64)
FORWARDERS = (1, 2, 4)
KIB = 1024
TRAINED_SIZES = (32 * KIB, 256 * KIB)
UNSEEN_SIZES = (64 * KIB, 128 * KIB)
"""Sizes of requests with which no detector is trained."""
FAR_SIZES = (4 * KIB, 1024 * KIB)
"""Sizes beyond those of training, which the thesis does not have. They are only written, to save time."""
RATE = 80.0
"""Requests of all processes together in a second, less if they are larger than 256 KiB. Processes pause between
requests, so that many runs fit on a machine."""
TOTAL = 2**32
"""Bytes of the files of a run, as in the thesis. Only the beginning of each process's part is used in the time."""

LAYOUTS = {
    AccessClass.INDIVIDUAL: Layout.INDIVIDUAL,
    AccessClass.SHARED_CONTIGUOUS: Layout.SHARED_CONTIGUOUS,
    AccessClass.SHARED_STRIDED: Layout.SHARED_STRIDED,
}


@dataclass(frozen=True)
class Lane:
    """Runs with equally many processes and forwarders, one after the other."""

    processes: int
    forwarders: int

    def __str__(self) -> str:
        return f"{self.processes}-processes-{self.forwarders}-forwarders"


@dataclass(frozen=True)
class Run:
    """A run of a known pattern; `size` is that of its requests in bytes."""

    known: AccessClass
    operation: Operation
    size: int

    @property
    def rate(self) -> float:
        """Return the requests of all processes in a second."""
        return RATE * min(1.0, max(TRAINED_SIZES) / self.size)

    def __str__(self) -> str:
        return f"{self.known}-{self.operation}-{self.size // KIB}K".replace(" ", "-")


def size_of(name: str) -> int:
    """Return the size of the requests of a run with this name."""
    return int(name.rpartition("-")[2].removesuffix("K")) * KIB


def lanes() -> Sequence[Lane]:
    """Return all lanes."""
    return [Lane(processes, forwarders) for processes in PROCESSES for forwarders in FORWARDERS]


def runs(seed: int) -> Sequence[Run]:
    """Return the runs of a lane, in random order."""
    found = list(_runs())
    Random(seed).shuffle(found)  # noqa: S311 - not used for security
    return found


def _runs() -> Iterator[Run]:
    for known in AccessClass:
        for operation in Operation:
            for size in (*TRAINED_SIZES, *UNSEEN_SIZES, *(FAR_SIZES if operation is Operation.WRITE else ())):
                yield Run(known, operation, size)


def exploration(lane: Lane, run: Run, path: str, seconds: float) -> Exploration:
    """Return the steps of `reprise-forge` in a run that ends after some seconds."""
    layout = LAYOUTS[run.known]
    moved = Step(forge_pattern.Operation(run.operation), path, layout, TOTAL, run.size)
    opened, closed = (
        Step(operation, path, layout) for operation in (forge_pattern.Operation.OPEN, forge_pattern.Operation.CLOSE)
    )
    return Exploration(
        lane.forwarders,
        [Phase(1, [opened, moved, closed])],
        stone_wall=seconds,
        pause=lane.processes / run.rate,
    )
