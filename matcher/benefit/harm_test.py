# SPDX-License-Identifier: Apache-2.0
"""Is a record harmful? Looked at after every block of jobs, for as long as the record is in use.

Where a record changes nothing, the jobs of a block are exchangeable: which of them were held out is chance. So the
share of pairs (given, held out) in which the given job took longer, less the share in which it took less, is 0 on
average, whatever run times are distributed like; and 1 + w times that is a bet that gains nothing on average, for a w
from 0 to 1 that does not depend on which job was which. Bets are multiplied from block to block (a test by betting:
Shafer 2021, Ramdas et al. 2023), never falling below 1 (the CUSUM of e-values: Shin, Ramdas and Rinaldo 2023), so
that years of good runs do not hide that it now does harm. A record that changes nothing reaches `LIMIT` once in as
many blocks at most, one that gains almost never. For the first blocks of a new one less is enough.

In a block of two the difference is weighted by how large it is beside others: small ones are chance, and very large
ones too, where something else was slow. Failures are bet on in the same way.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 1000.0
LIMIT_FIRST = 64.0
"""Of a record that is new: it has not gained anybody anything yet. With noise of 5 % times Student's t with three
degrees of freedom, of records that make jobs 10 % slower 97 of 100 reach it within 26 pairs (95 would reach 100, and 96
with bets that knew the noise and the harm); of those that change nothing 7 within 40, of those that gain 2 % one."""
BLOCKS_FIRST = 40
DOUBT = 10.0
"""From there on the next blocks are pairs again, which tell most."""
PAIRS_FIRST = 20
"""Blocks of two that a new record begins with."""
JOBS_FIRST = 100
"""At most so many of its jobs are in them, where their ends are late or reported by nobody."""
JOBS_FIRST_OFTEN_WRONG = 1000
"""The same where the match is of a kind that is often wrong: as many as a user submits before the first of them end. It
is finite for sites whose nodes report no ends, where comparing half of all jobs would never tell anything."""
STAKE = 0.85
"""Of what there is, at most: a single bad run of a job that was held out must not ruin the evidence."""
SCALES = (1.0, 2.0)
"""Differences that count most, in medians of differences."""
FAILURE_STAKE = 0.9
DIFFERENCES = 100

SLOWER = "slower"
FAILING = "failing"


@dataclass(frozen=True)
class Run:
    """A job that ended: seconds that it took, and whether it failed."""

    seconds: float
    failed: bool = False


class Evidence:
    """Against one record, of which so many `blocks` were looked at already, and told nothing."""

    def __init__(self, blocks: int = 0) -> None:
        self.blocks = blocks
        self._slower = [0.0] * len(SCALES)  # logarithms
        self._failing = [0.0]
        self._differences: deque[float] = deque(maxlen=DIFFERENCES)

    def add(self, given: Sequence[Run], held_out: Sequence[Run]) -> None:
        """A block whose jobs have ended. One that has no job of either kind tells nothing."""
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
        """What is staked with each scale, positive where given jobs took longer."""
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
        """How much there is to say that jobs got slower, 1 being nothing."""
        return _mean(self._slower)

    @property
    def failing(self) -> float:
        """The same of failing more."""
        return _mean(self._failing)

    @property
    def limit(self) -> float:
        """How much it takes."""
        return LIMIT_FIRST if self.blocks <= BLOCKS_FIRST else LIMIT

    @property
    def verdict(self) -> str:
        """What is proved: SLOWER, FAILING or nothing."""
        if self.failing >= self.limit:
            return FAILING
        return SLOWER if self.slower >= self.limit else ""

    def in_doubt(self, jobs: int, *, often_wrong: bool = False) -> bool:
        """Whether the next job is to be compared one with one, after so many: the record is new, or looks harmful.

        `often_wrong`: the match is of a kind that often is, so that ends are waited for longer.
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
