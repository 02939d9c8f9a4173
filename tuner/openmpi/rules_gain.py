# SPDX-License-Identifier: Apache-2.0
"""Gain of a whole rules file, computed from the gains of its choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from reprise.database.entities import Measurement
from reprise.tuner.model.component import Comparison

T = TypeVar("T")


def combined_gain(comparisons: Sequence[Comparison]) -> tuple[float, float, float]:
    """Return 1 - G as (gain, low, high), where G is the geometric mean of tuned/default over equally weighted problems.

    On a logarithmic scale, the distance of a bound from the gain is the mean of the problems' distances. This distance
    does not shrink with the number of problems, because one run measures many problems, and a disturbance of the run
    may affect all of them.
    """
    ratio, low, high = _geometric(
        comparisons, lambda c: (math.log1p(-c.gain), math.log1p(-c.gain_high), math.log1p(-c.gain_low))
    )
    return 1 - ratio, 1 - high, 1 - low


def combined_measurement(measurements: Sequence[Measurement]) -> Measurement:
    """Return a measurement with the geometric mean of the means, and with bounds as in `combined_gain`.

    Its `n` is the total number of samples.
    """

    def logs(m: Measurement) -> tuple[float, float, float]:
        return math.log(m.mean), math.log(m.low) if m.low > 0 else -math.inf, math.log(m.high)

    mean, low, high = _geometric(measurements, logs)
    return Measurement(mean, low, high, sum(m.n for m in measurements), measurements[0].unit)


def _geometric(items: Sequence[T], logs: Callable[[T], tuple[float, float, float]]) -> tuple[float, float, float]:
    rows = [logs(item) for item in items]
    mean = math.fsum(row[0] for row in rows) / len(rows)
    below, above = (math.fsum(row[side] for row in rows) / len(rows) for side in (1, 2))
    return math.exp(mean), math.exp(below), math.exp(above)
