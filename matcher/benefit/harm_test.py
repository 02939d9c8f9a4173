# SPDX-License-Identifier: Apache-2.0
"""Test whether a record is harmful, repeated after every block of jobs for as long as the record is in use.

If a record changes nothing, the jobs of a block are exchangeable, since chance decides which of them are held out. Then
the share of pairs (given, held out) in which the given job took longer, minus the share in which it took less, is 0 on
average, whatever the distribution of run times. So 1 + w times that difference is a bet that gains nothing on average,
for a w from 0 to 1 that does not depend on which job was which. Bets are multiplied from block to block (a test by
betting: Shafer 2021, Ramdas et al. 2023), never falling below 1 (the CUSUM of e-values: Shin, Ramdas and Rinaldo 2023),
so that years of good runs do not hide that a record now does harm. A record that changes nothing reaches `LIMIT` at
most once in that many blocks, one that gains almost never. A lower limit applies to the first blocks of a new record.

In a block of two, the difference is weighted by its size relative to others: small ones are chance, and so are very
large ones, which have another cause. Failures are bet on in the same way.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 1000.0
LIMIT_FIRST = 64.0
"""Limit for a new record, which has not proved any gain yet.

With noise of 5 % times Student's t with three degrees of freedom, 97 of 100 records that make jobs 10 % slower reach it
within 26 pairs (95 would reach 100, and 96 with bets that knew the noise and the harm). Within 40 pairs, 7 of 100
records that change nothing reach it, and 1 of 100 that gain 2 %.
"""
BLOCKS_FIRST = 40
DOUBT = 10.0
"""Evidence from which on the next blocks are pairs again, which are the most informative."""
PAIRS_FIRST = 20
"""Blocks of two that a new record begins with."""
JOBS_FIRST = 100
"""Most jobs of a new record in these blocks, if their ends are reported late or not at all."""
JOBS_FIRST_OFTEN_WRONG = 1000
"""Most jobs of a new record in these blocks, if its kind of match is often wrong.

It is as many as a user submits before the first of them end. It is finite for sites with nodes that report no ends,
where a comparison of half of all jobs would never give a result.
"""
STAKE = 0.85
"""Largest share of the evidence to bet, so that a single bad run of a held-out job does not ruin it."""
SCALES = (1.0, 2.0)
"""Differences with the largest weight, in medians of differences."""
FAILURE_STAKE = 0.9
DIFFERENCES = 100

SLOWER = "slower"
FAILING = "failing"


@dataclass(frozen=True)
class Run:
    """A job that ended: its run time in seconds, and whether it failed."""

    seconds: float
    failed: bool = False


class Evidence:
    """Evidence against one record; `blocks` is the number of blocks seen already, without a result."""

    def __init__(self, blocks: int = 0) -> None:
        self.blocks = blocks
        self._slower = [0.0] * len(SCALES)  # logarithms
        self._failing = [0.0]
        self._differences: deque[float] = deque(maxlen=DIFFERENCES)

    def add(self, given: Sequence[Run], held_out: Sequence[Run]) -> None:
        """Add a block of jobs that have ended. A block without jobs of one kind is ignored."""
        if not given or not held_out:
            return
        self.blocks += 1
        excess = _share(given) - _share(held_out)
        self._failing = [_next(self._failing[0], FAILURE_STAKE * excess)]
        timed = [_log(run) for run in given if not run.failed], [_log(run) for run in held_out if not run.failed]
        if all(timed):
            bets = self._bets(*timed)
            self._slower = [_next(before, bet) for before, bet in zip(self._slower, bets, strict=True)]

    def _bets(self, given: Sequence[float], held_out: Sequence[float]) -> Sequence[float]:
        """Return the stake for each scale, positive if given jobs took longer."""
        signs = [(a > b) - (a < b) for a in given for b in held_out]
        balance = sum(signs) / len(signs)
        if len(signs) > 1:
            return [STAKE * balance] * len(SCALES)
        difference = abs(given[0] - held_out[0])
        self._differences.append(difference)
        usual = statistics.median(self._differences)
        ratios = [difference / (usual * scale) if usual else 1.0 for scale in SCALES]
        return [STAKE * balance * 2 * ratio / (1 + ratio * ratio) for ratio in ratios]

    @property
    def slower(self) -> float:
        """Evidence that jobs got slower; 1 is none."""
        return _mean(self._slower)

    @property
    def failing(self) -> float:
        """Evidence that jobs fail more often; 1 is none."""
        return _mean(self._failing)

    @property
    def limit(self) -> float:
        """Evidence needed for a verdict."""
        return LIMIT_FIRST if self.blocks <= BLOCKS_FIRST else LIMIT

    @property
    def verdict(self) -> str:
        """Verdict: SLOWER, FAILING, or "" as long as nothing is proved."""
        if self.failing >= self.limit:
            return FAILING
        return SLOWER if self.slower >= self.limit else ""

    def in_doubt(self, jobs: int, *, often_wrong: bool = False) -> bool:
        """Return whether the next job belongs in a block of two, after `jobs` others: the record is new or suspect.

        `often_wrong` means that this kind of match often is, which makes it wait longer for ends.
        """
        is_new = self.blocks < PAIRS_FIRST and jobs < (JOBS_FIRST_OFTEN_WRONG if often_wrong else JOBS_FIRST)
        return is_new or max(self.slower, self.failing) >= DOUBT


def _next(before: float, bet: float) -> float:
    return max(0.0, before) + math.log1p(bet)


def _mean(logarithms: Sequence[float]) -> float:
    return statistics.fmean(math.exp(min(max(0.0, one), 700.0)) for one in logarithms)


def _share(runs: Sequence[Run]) -> float:
    return sum(run.failed for run in runs) / len(runs)


def _log(run: Run) -> float:
    return math.log(max(run.seconds, 1e-3))
