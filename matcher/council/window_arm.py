# SPDX-License-Identifier: Apache-2.0
"""Rewards of one window in one context."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class Arm:
    """Rewards of a window in MB/s: how often it was measured (N), their mean (Q) and the largest one.

    `recent` has the last rewards, in order, if only these count; else it is empty. Nothing is known of an arm without
    tries, and its mean is 0 (Q0 of Bez 2020, section 4.2.1).
    """

    tries: int = 0
    mean: float = 0.0
    peak: float = 0.0
    recent: tuple[float, ...] = ()

    def after(self, reward: float, memory: int) -> Arm:
        """Return the arm after another reward; with a memory, mean and peak are those of the last `memory` rewards.

        Without a memory, the mean is updated incrementally (Bez 2020, equation 4.1).
        """
        tries = self.tries + 1
        if not memory:
            return Arm(tries, self.mean + (reward - self.mean) / tries, max(self.peak, reward))
        recent = (*self._known(), reward)[-memory:]
        return Arm(tries, fmean(recent), max(recent), recent)

    def _known(self) -> tuple[float, ...]:
        """Return the rewards to continue with; of an arm that was learned without a memory, the mean counts once."""
        return self.recent or ((self.mean,) if self.tries else ())
