# SPDX-License-Identifier: Apache-2.0
"""What a record gains in production, with a confidence interval that run times of any distribution leave true.

Jobs are compared within the blocks that they were dealt to, so nothing that differs from block to block has a part in
it: numbers of nodes, applications, a cluster that gets slower, the share of jobs that is held out. The logarithms of
run times, less their block's median, are ranked (aligned ranks: Hodges and Lehmann 1962); the shift between given and
held-out ones is that which leaves their ranks balanced (Hodges and Lehmann 1963), and its interval holds the shifts
that the test does not refuse, whose variance is that of drawing anew in each block which jobs are held out. No single
job that took ten times as long moves it far. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

Z = 1.959964
"""Of 95 %."""
STEPS = 20
"""In which the shift is known to a millionth of the largest difference."""

Block = tuple[Sequence[float], Sequence[float]]
"""Seconds of the jobs that were given settings, and of those that were held out."""


@dataclass(frozen=True)
class Gain:
    """1 - given/held out of the run time, with 95 % bounds; None where there are too few jobs. `given`, `held_out`:
    jobs that count."""

    gain: float | None
    low: float | None
    high: float | None
    given: int
    held_out: int


@dataclass(frozen=True)
class _Alike:
    """Blocks of one size: logarithms, a row a block, and which of them are of jobs that were given settings."""

    logs: np.ndarray
    given: np.ndarray


def gain(blocks: Iterable[Block]) -> Gain:
    """Blocks without jobs of either kind count nothing. Seconds are positive."""
    counted = [block for block in blocks if len(block[0]) and len(block[1])]
    given, held_out = sum(len(block[0]) for block in counted), sum(len(block[1]) for block in counted)
    alike = _by_size(counted)
    reach = max((float(np.ptp(one.logs, axis=1).max()) for one in alike), default=0.0) + 1e-9
    if not alike or min(_balance(alike, -reach), -_balance(alike, reach)) < Z:  # no shift would be refused
        return Gain(None, None, None, given, held_out)

    def shift(wanted: float) -> float:
        """Where the balance of ranks is this much: it falls as the shift grows."""
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
    """How much higher the ranks of given jobs are, less the shift, than chance would have them, in standard errors."""
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
