# SPDX-License-Identifier: Apache-2.0
"""What the library costs programs that it cannot help: the same run with it and without it, in any order."""

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
"""How many times as many pairs. Of 0.3 s in order a pair's ratio varies by 8 % here, so that the median of 21 is
known to 2 %, that of five times as many to 1 %; at random by 5 %, and that of twice as many is known to 1 %."""
NOT_SEEN = 1e9  # nanoseconds: `reader` had no round to take the time of


@dataclass(frozen=True)
class Bench:
    """The built things and what is read. `reads`: of each kind, in the order of `KINDS`; `pairs`: of each, times its
    `TIMES_PAIRS`."""

    library: Path
    reader: Path
    file: Path
    reads: Sequence[int]
    pairs: int
    seed: int


@dataclass(frozen=True)
class Run:
    wall_s: float
    call_ns: float


Pairs = list[tuple[Run, Run]]  # without and with the library


def run(bench: Bench, kind: str, seed: int, library: bool) -> Run:
    if kind != "cached":
        make_cold(bench.file)
    words = [str(bench.reader), str(bench.file), kind, str(bench.reads[KINDS.index(kind)]), str(seed)]
    environment = {"PATH": os.defpath, **({"LD_PRELOAD": str(bench.library)} if library else {})}
    begun = time.perf_counter()
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return Run(time.perf_counter() - begun, float(done.stdout))


def both(runs: Sequence[Run]) -> Run:
    """Two runs as one. On a virtual machine a run may be three times as fast as the one before it and the one behind
    it, in turns (the host's caches, memory and allowances); so the four of a pair are in the order of a palindrome."""
    return Run(sum(one.wall_s for one in runs), min(one.call_ns for one in runs))


def overhead(bench: Bench) -> dict[str, object]:
    """`overhead_pct`: of wall time, the median of the pairs' ratios, of the worst kind. `call_ns`: what a read from the
    cache takes longer, the median of the pairs."""
    pairs: dict[str, Pairs] = {kind: [] for kind in KINDS}
    for kind in KINDS:  # one after the other: what a kind has left in the host's cache is nothing to the next one
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
    """What each pair's second run takes longer than its first, in percent."""
    return [100 * (after.wall_s / before.wall_s - 1) for before, after in pairs]


def told(pairs: Pairs) -> dict[str, object]:
    """One program: whoever else uses the machine shows in the quartiles, and least in the fastest runs."""
    quartiles = statistics.quantiles(ratios_of(pairs), n=4)
    fastest = [min(pair[i].wall_s for pair in pairs) for i in (0, 1)]
    calls = [min(pair[i].call_ns for pair in pairs) for i in (0, 1)]
    return {
        "overhead_pct_quartiles": [round(quartile, 2) for quartile in quartiles],
        "overhead_pct_fastest": round(100 * (fastest[1] / fastest[0] - 1), 2),
        "seconds_fastest": [round(seconds, 3) for seconds in fastest],
        **({"call_ns_fastest": calls} if max(calls) < NOT_SEEN else {}),
    }
