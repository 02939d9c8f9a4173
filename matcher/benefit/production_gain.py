# SPDX-License-Identifier: Apache-2.0
"""Gain of a record in production, with a confidence interval that is valid for any distribution of run times.

Jobs are compared within their blocks. Thus it does not matter if blocks differ in the number of nodes, the application,
the speed of the cluster, or the share of held-out jobs. The logarithms of all run times, minus the median of their
block, are ranked (aligned ranks: Hodges and Lehmann 1962). The estimated shift between given jobs (with the settings)
and held-out jobs is the shift that balances their ranks (Hodges and Lehmann 1963). The interval contains all shifts
that the rank test does not reject; the variance in the test comes from the random choice of each block's held-out jobs.
A single job that took ten times as long as the others has little influence. The functions have no side effects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

Z = 1.959964
"""Quantile of the normal distribution for 95 %."""
STEPS = 20
"""Number of bisection steps, which determine the shift to a millionth of the largest difference."""

Block = tuple[Sequence[float], Sequence[float]]
"""Run times in seconds of a block's jobs with the settings, and of its held-out jobs."""


@dataclass(frozen=True)
class Gain:
    """Gain in run time (1 - given / held out) and the bounds of its 95 % interval; None if there are too few jobs.

    `given` and `held_out` are the numbers of jobs that were compared.
    """

    gain: float | None
    low: float | None
    high: float | None
    given: int
    held_out: int


@dataclass(frozen=True)
class _Alike:
    """Blocks of equal size, with a row per block and a column per job.

    `logs` are the logarithms of run times. `given` is True for jobs that got the settings.
    """

    logs: np.ndarray
    given: np.ndarray


def gain(blocks: Iterable[Block]) -> Gain:
    """Return the gain over all blocks; blocks without given jobs or without held-out jobs are ignored.

    Run times must be positive.
    """
    counted = [block for block in blocks if len(block[0]) and len(block[1])]
    given, held_out = sum(len(block[0]) for block in counted), sum(len(block[1]) for block in counted)
    alike = _by_size(counted)
    reach = max((float(np.ptp(one.logs, axis=1).max()) for one in alike), default=0.0) + 1e-9
    if not alike or min(_balance(alike, -reach), -_balance(alike, reach)) < Z:  # too few jobs to reject any shift
        return Gain(None, None, None, given, held_out)

    def shift(wanted: float) -> float:
        """Return the shift at which `_balance` is `wanted`; the balance falls as the shift grows."""
        low, high = -reach, reach
        for _ in range(STEPS):
            middle = (low + high) / 2
            if _balance(alike, middle) > wanted:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    return Gain(1 - math.exp(shift(0.0)), 1 - math.exp(shift(-Z)), 1 - math.exp(shift(Z)), given, held_out)


def _by_size(blocks: Sequence[Block]) -> Sequence[_Alike]:
    rows: dict[int, list[tuple[list[float], list[bool]]]] = {}
    for given, held_out in blocks:
        kinds = [True] * len(given) + [False] * len(held_out)
        rows.setdefault(len(kinds), []).append(([*given, *held_out], kinds))
    return [
        _Alike(np.log(np.array([row[0] for row in of_size])), np.array([row[1] for row in of_size]))
        for of_size in rows.values()
    ]


def _balance(alike: Sequence[_Alike], shift: float) -> float:
    """Return by how many standard errors the given jobs' ranks exceed those expected by chance."""
    moved = [one.logs - shift * one.given for one in alike]
    aligned = [rows - np.median(rows, axis=1, keepdims=True) for rows in moved]
    in_order = np.sort(np.concatenate([rows.ravel() for rows in aligned]))
    excess = variance = 0.0
    for one, rows in zip(alike, aligned, strict=True):
        ranks = (np.searchsorted(in_order, rows, "left") + np.searchsorted(in_order, rows, "right")) / 2
        ranks -= ranks.mean(axis=1, keepdims=True)
        size, given = rows.shape[1], one.given.sum(axis=1)
        excess += float((ranks * one.given).sum())
        variance += float((given * (size - given) / (size * (size - 1)) * (ranks**2).sum(axis=1)).sum())
    return excess / math.sqrt(variance) if variance else 0.0
