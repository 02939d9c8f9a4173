# SPDX-License-Identifier: Apache-2.0
"""When a search has found what it will find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StopRule:
    """Stop at `budget` trials, or when the last `window` of them improved the best value by less than `improvement`.

    With w the window and H the values so far, the second rule is first tested when |H| > initial + w, and stops where
    (min H[:-w] - min H[-w:]) / min H[:-w] < improvement. A flat objective with 10 initial points and a window of 15
    therefore stops after 26 trials.
    """

    initial: int = 10
    budget: int = 150
    window: int = 15
    improvement: float = 0.01

    def reached(self, values: Sequence[float | None]) -> str:
        """Why to stop, in one line; empty while the search should go on. None stands for a failed trial."""
        if len(values) >= self.budget:
            return f"the budget of {self.budget} trials is spent"
        if self.window == 0 or len(values) <= self.initial + self.window:
            return ""
        before, lately = _lowest(values[: -self.window]), _lowest(values[-self.window :])
        if before == math.inf or (before - lately) / before >= self.improvement:
            return ""
        return f"the last {self.window} trials improved the best by less than {self.improvement:.3g}"


def _lowest(values: Sequence[float | None]) -> float:
    return min((value for value in values if value is not None), default=math.inf)
