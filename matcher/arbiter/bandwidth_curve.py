# SPDX-License-Identifier: Apache-2.0
"""Bandwidth of an application by its number of I/O forwarders, with lower confidence bounds.

Bandwidths are in MB/s (10^6 bytes a second). The bandwidth of a run is the number of bytes that it wrote and read,
divided by its run time at the client. Number 0 means direct access to the file system.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reprise.matcher.errors import ArbiterError

CONFIDENCE = 0.95
MOST_FORWARDERS = 65536
MOST_BANDWIDTH = 1e9
"""Maximum bandwidth in MB/s, a thousand terabytes a second; more is a mistake in the unit.

The sums of a thousand million such bandwidths, in bytes a second, still fit into the 63 bits of the knapsack's values.
"""


@dataclass(frozen=True)
class Point:
    """Mean bandwidth in MB/s with one number of forwarders, its lower bound, and the number of runs.

    A single run has no bound: `low` is then 0, so that nobody gets forwarders because of one lucky run.
    """

    mean: float
    low: float
    samples: int


@dataclass(frozen=True)
class BandwidthCurve:
    """Points of a curve by the number of forwarders, in ascending order; at least one."""

    points: Mapping[int, Point]

    def __contains__(self, forwarders: int) -> bool:
        return forwarders in self.points

    def __iter__(self) -> Iterator[int]:
        return iter(self.points)

    def __getitem__(self, forwarders: int) -> Point:
        return self.points[forwarders]


def measured(samples: Mapping[int, Sequence[float]]) -> BandwidthCurve:
    """Return the curve through the bandwidths of runs, in MB/s, by number of forwarders.

    The lower bound is one-sided: exp(m - t(0.95, n - 1) s / sqrt(n)), with the mean m and the standard deviation s of
    the n logarithms. If these are normally distributed, it is below the geometric mean with a probability of
    `CONFIDENCE`, and below the mean with a larger one.
    The maximum of the runs is no estimate: Bez 2020, figure 5.3(b), takes it, and finds direct access best for 62 of
    189 patterns; the medians of the same runs say 19.

    Raise ArbiterError if there is no number, or a number without runs, or a value that is no bandwidth.
    """
    return _curve({number: _point(number, runs) for number, runs in samples.items()})


def exact(bandwidths: Mapping[int, float]) -> BandwidthCurve:
    """Return a curve whose bandwidths, in MB/s, are known without error; each lower bound equals its mean.

    Raise ArbiterError as `measured` does.
    """
    return _curve({number: Point(_bandwidth(number, value), float(value), 1) for number, value in bandwidths.items()})


def _curve(points: Mapping[int, Point]) -> BandwidthCurve:
    if not points:
        raise ArbiterError("a curve without any bandwidth: state the bandwidth for at least one number of forwarders")
    for number in points:
        if not 0 <= number <= MOST_FORWARDERS:
            raise ArbiterError(f"{number} forwarders: a curve has numbers from 0 to {MOST_FORWARDERS}")
    return BandwidthCurve({number: points[number] for number in sorted(points)})


def _point(number: int, runs: Sequence[float]) -> Point:
    if not runs:
        raise ArbiterError(f"no bandwidth with {number} forwarders: leave out the number, or state its runs")
    mean = statistics.fmean(_bandwidth(number, run) for run in runs)
    if len(runs) == 1:
        return Point(mean, 0.0, 1)
    logarithms = [math.log(run) for run in runs]
    half = _quantile(len(runs)) * statistics.stdev(logarithms) / math.sqrt(len(runs))
    return Point(mean, min(mean, math.exp(statistics.fmean(logarithms) - half)), len(runs))


def _bandwidth(number: int, value: float) -> float:
    if not (math.isfinite(value) and 0 < value <= MOST_BANDWIDTH):
        raise ArbiterError(
            f"bandwidth {value} with {number} forwarders: state MB/s, more than 0 and at most {MOST_BANDWIDTH:.0f}"
        )
    return float(value)


def _quantile(samples: int) -> float:
    from scipy.special import stdtrit  # imported here because scipy is slow to import

    return float(stdtrit(samples - 1, CONFIDENCE))
