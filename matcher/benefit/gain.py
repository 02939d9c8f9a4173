# SPDX-License-Identifier: Apache-2.0
"""What a record gains in production, with a confidence interval that run times of any distribution leave true.

Jobs are compared within strata (a number of nodes) by their ranks: the shift between the logarithms of given and
held-out run times is the one at which the ranks are balanced (Hodges and Lehmann 1963), with strata weighted as van
Elteren (1960) does, and its interval holds the shifts that a rank test does not refuse. No single job that took ten
times as long moves it far. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 4
"""Jobs of either kind, without which nothing is said."""
Z = 1.959964
"""Of 95 %."""
STEPS = 60

Stratum = tuple[Sequence[float], Sequence[float]]
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


def gain(strata: Iterable[Stratum]) -> Gain:
    """Strata with no job of either kind count nothing. Seconds are positive."""
    logs = [(np.log(given), np.sort(np.log(held))) for given, held in strata if len(given) and len(held)]
    given, held_out = sum(len(a) for a, _ in logs), sum(len(b) for _, b in logs)
    if min(given, held_out) < LEAST:
        return Gain(None, None, None, given, held_out)
    reach = max(float(np.ptp(np.concatenate(pair))) for pair in logs) + 1e-9
    spread = Z * math.sqrt(sum(len(a) * len(b) / (len(a) + len(b) + 1) for a, b in logs) / 12)

    def shift(excess: float) -> float:
        """Where the balance of ranks is this much: it falls as the shift grows."""
        low, high = -reach, reach
        for _ in range(STEPS):
            middle = (low + high) / 2
            if _balance(logs, middle) > excess:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    return Gain(1 - math.exp(shift(0.0)), 1 - math.exp(shift(-spread)), 1 - math.exp(shift(spread)), given, held_out)


def _balance(logs: Sequence[tuple[np.ndarray, np.ndarray]], shift: float) -> float:
    """Pairs in which the given job, less the shift, took longer, less half of all pairs; weighted by strata."""
    total = 0.0
    for given, held_out in logs:
        moved = given - shift
        below = np.searchsorted(held_out, moved, "left") + np.searchsorted(held_out, moved, "right")
        total += (float(below.sum()) / 2 - len(given) * len(held_out) / 2) / (len(given) + len(held_out) + 1)
    return total
