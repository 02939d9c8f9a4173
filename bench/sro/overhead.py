# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of the library for programs that it cannot help, by alternate runs with and without the library."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.small_reads import make_cold

KINDS = ("sequential", "random", "cached")
TIMES_PAIRS = {"sequential": 5, "random": 2, "cached": 1}
"""Factors by which the number of pairs of each kind of run is multiplied.

For 0.3 s of sequential reads, the ratios of pairs vary by 8 % on our machine, so the median of 21 pairs is accurate to
2 %, and the median of five times as many to 1 %. For random reads, ratios vary by 5 %, so the median of twice as many
pairs is accurate to 1 %.
"""
NOT_SEEN = 1e9  # nanoseconds per read; larger values mean that `reader` completed no round


@dataclass(frozen=True)
class Bench:
    """The programs and the file that the measurement uses.

    `reads` has the number of reads for each of `KINDS`, in this order. The number of pairs of a kind is `pairs` times
    its factor in `TIMES_PAIRS`.
    """

    library: Path
    reader: Path
    file: Path
    reads: Sequence[int]
    pairs: int
    seed: int


@dataclass(frozen=True)
class Run:
    """The times of a run: the whole run in seconds, and a read in nanoseconds."""

    wall_s: float
    call_ns: float


Pairs = list[tuple[Run, Run]]  # (run without the library, run with the library)


def run(bench: Bench, kind: str, seed: int, library: bool) -> Run:
    """Run the reader once, with or without the library, and return its times."""
    if kind != "cached":
        make_cold(bench.file)
    words = [str(bench.reader), str(bench.file), kind, str(bench.reads[KINDS.index(kind)]), str(seed)]
    environment = {"PATH": os.defpath, **({"LD_PRELOAD": str(bench.library)} if library else {})}
    begun = time.perf_counter()
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return Run(time.perf_counter() - begun, float(done.stdout))


def both(runs: Sequence[Run]) -> Run:
    """Merge two runs.

    On a virtual machine, every other run may be three times as fast as the runs before and after it (because of the
    host's caches, memory and allowances). A pair therefore consists of four runs in a palindromic order, two with the
    library and two without. The two runs with the library are merged into one, and so are the two without it.
    """
    return Run(sum(one.wall_s for one in runs), min(one.call_ns for one in runs))


def overhead(bench: Bench) -> dict[str, object]:
    """Measure and return the overhead of the library.

    `overhead_pct` is the overhead in wall time: the median over the pairs of the kind with the largest overhead.
    `call_ns` is the additional time of a read from the cache: the median over the pairs.
    """
    pairs: dict[str, Pairs] = {kind: [] for kind in KINDS}
    for kind in KINDS:  # one kind after the other, because each kind leaves data in the host's cache
        for number in range(bench.pairs * TIMES_PAIRS[kind]):
            ran: dict[bool, list[Run]] = {False: [], True: []}
            for library in (False, True, True, False) if number % 2 else (True, False, False, True):
                ran[library].append(run(bench, kind, bench.seed + number, library))
            pairs[kind].append((both(ran[False]), both(ran[True])))
    return {
        "overhead_pct": max(round(statistics.median(ratios_of(of)), 2) for of in pairs.values()),
        "call_ns": round(statistics.median(after.call_ns - before.call_ns for before, after in pairs["cached"]), 1),
        "programs": {kind: told(of) for kind, of in pairs.items()},
    }


def ratios_of(pairs: Pairs) -> list[float]:
    """Return, for each pair, how much longer the second run took than the first, in percent."""
    return [100 * (after.wall_s / before.wall_s - 1) for before, after in pairs]


def told(pairs: Pairs) -> dict[str, object]:
    """Return the results for a kind of run, and for its fastest runs, which other load on the machine affects least."""
    quartiles = statistics.quantiles(ratios_of(pairs), n=4)
    fastest = [min(pair[i].wall_s for pair in pairs) for i in (0, 1)]
    calls = [min(pair[i].call_ns for pair in pairs) for i in (0, 1)]
    return {
        "overhead_pct_quartiles": [round(quartile, 2) for quartile in quartiles],
        "overhead_pct_fastest": round(100 * (fastest[1] / fastest[0] - 1), 2),
        "seconds_fastest": [round(seconds, 3) for seconds in fastest],
        **({"call_ns_fastest": calls} if max(calls) < NOT_SEEN else {}),
    }
