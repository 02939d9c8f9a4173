# SPDX-License-Identifier: Apache-2.0
"""Statistical test of whether a record is harmful, repeated after every block of jobs while the record is in use.

If a record has no effect, the jobs of a block are exchangeable, since chance decides which of them are held out.
Consider all pairs of a given job (with the settings) and a held-out job, and let d be the share of pairs in which the
given job took longer, minus the share in which it took less time. Then d is 0 on average, whatever the distribution of
run times. Therefore 1 + w d is a bet that gains nothing on average, for a w from 0 to 1 that does not depend on which
job was held out. The evidence is the product of the bets of all blocks (a test by betting: Shafer 2021, Ramdas et al.
2023). Evidence that has fallen below 1 is raised to 1 before the next bet (the CUSUM of e-values: Shin, Ramdas and
Rinaldo 2023), so that years of good runs do not hide that a record has become harmful. The evidence against a record
without effect reaches `LIMIT`, on average, at most once in `LIMIT` blocks. The evidence against a record with a gain
almost never does. A lower limit applies to the first blocks of a new record.

In a block of two jobs, w depends on the difference of their run times relative to the usual difference, because small
differences are chance, and very large ones have another cause. The evidence that a record makes jobs fail is computed
in the same way.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 1000.0
LIMIT_FIRST = 64.0
"""Evidence at which a new record, whose gain in production is still unproved, counts as harmful.

In simulations, in which the noise was 5 % times Student's t with three degrees of freedom, 97 of 100 records that make
jobs 10 % slower reach this limit within 26 pairs. (95 would reach a limit of 100, and 96 if the noise and the harm were
known.) Within 40 pairs, 7 of 100 records without effect reach the limit, and 1 of 100 records that gain 2 %.
"""
BLOCKS_FIRST = 40
DOUBT = 10.0
"""Evidence at which the next blocks are pairs again, because pairs are the most informative blocks."""
PAIRS_FIRST = 20
"""Number of initial blocks of a new record that are pairs (blocks of two jobs)."""
JOBS_FIRST = 100
"""Maximum number of a new record's jobs that are put into pairs, in case jobs report their ends late or not at all."""
JOBS_FIRST_OFTEN_WRONG = 1000
"""Maximum number of jobs of a new record that are put into pairs if jobs match it in a way that is often wrong.

A user may submit this many jobs before the first of these jobs ends. A maximum is needed because, at sites whose nodes
do not report the ends of jobs, half of all jobs would otherwise be held out forever without a result.
"""
STAKE = 0.85
"""Maximum share of the evidence that is bet on a block, so that one slow held-out job cannot wipe out the evidence."""
SCALES = (1.0, 2.0)
"""Differences of run times that get the largest weight, as multiples of the median difference."""
FAILURE_STAKE = 0.9
DIFFERENCES = 100

SLOWER = "slower"
FAILING = "failing"


@dataclass(frozen=True)
class Run:
    """A job that has ended: its run time in seconds, and whether it failed."""

    seconds: float
    failed: bool = False


class Evidence:
    """Evidence that one record is harmful. It starts at 1; `blocks` counts earlier blocks, which led to no verdict."""

    def __init__(self, blocks: int = 0) -> None:
        self.blocks = blocks
        self._slower = [0.0] * len(SCALES)  # logarithms
        self._failing = [0.0]
        self._differences: deque[float] = deque(maxlen=DIFFERENCES)

    def add(self, given: Sequence[Run], held_out: Sequence[Run]) -> None:
        """Add a block's jobs that have ended; a block without given jobs or without held-out jobs is ignored."""
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
        """Return w d (see the module's docstring) for each of SCALES, positive if the given jobs took longer."""
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
        """Evidence that the settings make jobs slower; 1 means no evidence."""
        return _mean(self._slower)

    @property
    def failing(self) -> float:
        """Evidence that the settings make jobs fail more often; 1 means no evidence."""
        return _mean(self._failing)

    @property
    def limit(self) -> float:
        """Evidence that is currently needed for a verdict."""
        return LIMIT_FIRST if self.blocks <= BLOCKS_FIRST else LIMIT

    @property
    def verdict(self) -> str:
        """The verdict, which is SLOWER, FAILING, or "" as long as neither is proved."""
        if self.failing >= self.limit:
            return FAILING
        return SLOWER if self.slower >= self.limit else ""

    def in_doubt(self, jobs: int, *, often_wrong: bool = False) -> bool:
        """Return whether the next block is a pair, because the record is new or there is evidence that it is harmful.

        `jobs` is the number of earlier jobs in blocks. If `often_wrong` is True, the next job matched the record in a
        way that is often wrong, so more of the first jobs are put into pairs.
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
