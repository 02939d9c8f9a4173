# SPDX-License-Identifier: Apache-2.0
"""A prefetcher for small random reads, and the generator of such reads.

After Robert 2021, section 2.2: the file is divided into bins, and the last `sequence_length` reads are remembered by
bin. Once a bin has `cluster_threshold` of them, `prefetch_size` bytes from its start are loaded into the node's memory.
The alignment of loads, their share of the back end, and its figures are our choices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

KIB = 1024
MIB = 1024 * KIB
GRAIN = 256 * KIB  # the memory consists of pieces of this size; bins and loads are multiples of it


@dataclass(frozen=True)
class Pattern:
    """Reads around `leads`, which are positions spread over the file and visited in turn (the generator's table 2.2).

    A visit makes `repeat` reads within `scatter` bytes and then moves its lead by `advance` bytes. A pair is a range
    from which every lead draws a value. `operations` is the total number of reads.
    """

    operations: int
    leads: int
    scatter: int | tuple[int, int]
    repeat: int | tuple[int, int] = 1
    advance: int = 0
    file_size: int = 100_000 * MIB

    def offsets(self, seed: int) -> Sequence[int]:
        """Return the first byte of each read."""
        rng = np.random.default_rng(seed)
        starts = (np.arange(self.leads) * (self.file_size // self.leads)).tolist()
        widths = _drawn(self.scatter, self.leads, rng)
        repeats = _drawn(self.repeat, self.leads, rng)
        found: list[int] = []
        while len(found) < self.operations:
            for lead in range(self.leads):
                within = widths[lead] * rng.random(repeats[lead]) ** 2  # denser near the lead: our choice
                found.extend(((starts[lead] + within.astype(np.int64)) % self.file_size).tolist())
                starts[lead] += self.advance
        return found[: self.operations]


def _drawn(value: int | tuple[int, int], count: int, rng: np.random.Generator) -> list[int]:
    if isinstance(value, tuple):
        return [int(drawn) for drawn in rng.integers(value[0], value[1], count, endpoint=True)]
    return [value] * count


@dataclass(frozen=True)
class BackEnd:
    """The cost of reads, in s and bytes/s. Loads follow one another; reads wait in part for a load in progress."""

    read_s: float  # a small read that is not in memory
    load_s: float  # before a load's first byte
    bandwidth: float
    contention: float  # a read takes 1 + contention * (loads in progress) times as long
    memory_s: float = 2e-5
    memory: int = 1024 * MIB  # beyond this, the oldest loads are dropped


LUSTRE = BackEnd(read_s=4e-3, load_s=4e-3, bandwidth=500e6, contention=1.0)
NFS = BackEnd(read_s=6e-3, load_s=6e-3, bandwidth=110e6, contention=1.0)


@dataclass(frozen=True)
class Prefetcher:
    """The four parameters, sizes in bytes and multiples of GRAIN."""

    binsize: int
    cluster_threshold: int
    prefetch_size: int
    sequence_length: int


def crowds(offsets: Sequence[int], binsize: int, sequence_length: int) -> Sequence[int]:
    """Return for each read the number of the last `sequence_length` reads, including itself, in its bin."""
    bins = [offset // binsize for offset in offsets]
    counts: dict[int, int] = {}
    found = []
    for index, bin_ in enumerate(bins):
        counts[bin_] = counts.get(bin_, 0) + 1
        if index >= sequence_length:
            counts[bins[index - sequence_length]] -= 1
        found.append(counts[bin_])
    return found


@dataclass(frozen=True)
class Outcome:
    """Seconds, number of loads started, and number of reads served from memory."""

    elapsed_s: float
    loads: int
    hits: int


def run(offsets: Sequence[int], crowd: Sequence[int], setting: Prefetcher, back_end: BackEnd) -> Outcome:
    """Make the reads one after the other; `crowd` is `crowds` of them for the setting's bins and sequence."""
    threshold, binsize, size = setting.cluster_threshold, setting.binsize, setting.prefetch_size
    load_s = back_end.load_s + size / back_end.bandwidth
    read_s, memory_s, contention = back_end.read_s, back_end.memory_s, back_end.contention
    ready: dict[int, float] = {}  # piece of the file -> time at which it is loaded, in the order of loading
    room = back_end.memory // GRAIN
    under_way: deque[float] = deque()
    now, free_at, loads, hits = 0.0, 0.0, 0, 0
    for offset, together in zip(offsets, crowd, strict=True):
        there = ready.get(offset // GRAIN)
        if there is not None and there <= now:
            hits += 1
            now += memory_s
            continue
        if there is None and together >= threshold:
            begin = offset // binsize * binsize // GRAIN
            free_at = max(free_at, now) + load_s
            under_way.append(free_at)
            loads += 1
            for piece in range(begin, begin + size // GRAIN):
                ready.setdefault(piece, free_at)
            while len(ready) > room:
                del ready[next(iter(ready))]
        while under_way and under_way[0] <= now:
            under_way.popleft()
        now += read_s * (1 + contention * len(under_way))
    return Outcome(now, loads, hits)
