# SPDX-License-Identifier: Apache-2.0
"""The three-part resampling filter of Robert 2021, chapter 5, for comparison.

The filter is off unless a campaign selects it, since it is the subject of patent filings (`docs/explanation/noise.md`).
Get legal advice before you switch it on.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from reprise.config import Section
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.noise.noise_policy import Evaluation, observed, sound, waiting, winner

DECAY = 0.99
ADMISSION_FLOOR, INTERVAL_FLOOR = 0.5, 0.1
SHARE = 0.10  # maximum number of evaluations of one point, as a share of the budget
Z = 1.96  # normal quantile, used even for few samples, as in Robert 2021


def admission_factor(step: int) -> float:
    """Return FC_B: a point is not repeated if its median exceeds FC_B times the median of earlier measurements."""
    return max(DECAY**step, ADMISSION_FLOOR)


def interval_factor(step: int) -> float:
    """Return FC_C: a point is not repeated if the interval of its mean is at most FC_C times the mean wide."""
    return max(DECAY**step, INTERVAL_FLOOR)


def interval(values: Sequence[float]) -> float:
    """Return the width of the mean's 95 % interval, from the normal quantile and the sample standard deviation."""
    return 2 * Z * statistics.stdev(values) / math.sqrt(len(values))


class Thesis:
    """The resampling filter. Points of the search get two evaluations; those of the initial design get one.

    The point of the most recent trial gets more evaluations, up to a tenth of the budget (part A; according to the
    published results, the budget excludes the initial design: 10 evaluations if the budget is 100, 15 if it is 150).
    The point gets them while its median is low compared with all earlier measurements (part B) and the interval of its
    mean is wide (part C). The factors of both comparisons fall from step to step.
    """

    def __init__(self, space: Space, budget: int, seed: int, settings: Section) -> None:
        self._space = space
        self._budget = budget

    def again(
        self,
        history: Sequence[Evaluation],
        pending: Sequence[Parametrization] = (),
        stopped: int | None = None,
        budget: int | None = None,
    ) -> Parametrization | None:
        """Return the point to evaluate once more now, or None if the search should propose a point."""
        initial = {self._space.key(one.point) for one in history if one.initial}
        running = waiting(pending, self._space)
        points = {key: point for key, point in observed(history, self._space).items() if key not in initial}
        for key, point in points.items():
            if sound(point) and len(point.values) + running.get(key, 0) < 2:
                return point.point
        last = self._space.key(history[-1].point) if history else ()
        if last not in points or not sound(points[last]) or len(points[last].values) < 2:
            return None
        values = points[last].values
        if len(values) + running.get(last, 0) >= max(2.0, SHARE * (self._budget - len(initial))):
            return None
        first = next(index for index, one in enumerate(history) if self._space.key(one.point) == last)
        before = [one.value for one in history[:first] if one.value is not None and not one.censored]
        step = len(history)
        if before and statistics.median(values) > admission_factor(step) * statistics.median(before):
            return None
        wide = interval(values) > interval_factor(step) * abs(statistics.fmean(values))
        return points[last].point if wide else None

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """Return the best point by mean."""
        return winner(history, self._space)
