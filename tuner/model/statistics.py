# SPDX-License-Identifier: Apache-2.0
"""Means and gains with 95 % confidence bounds, for few samples.

The bounds use Student's t with n - 1 degrees of freedom and the sample standard deviation (n - 1 in its denominator).
With the factor 1.96 and the denominator n instead, as is common, the interval of 5 samples is a third too narrow.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Sequence

from reprise.database.entities import Measurement

CONFIDENCE = 0.95
DRIFT = 0.02
"""Assumed standard deviation, on a logarithmic scale, of an advantage that one of two settings has in one session only.

This deviation is assumed even if every run is a separate job. Two sessions are too few to measure the deviation. If it
is larger than assumed, the sessions' gains tend to differ more, which widens the bounds.
"""
# minimum number of pairs for 95 % bounds by signed ranks; the signs of 6 pairs agree by chance with probability 2 / 2^6
RANKED = 6

Gain = tuple[float, float, float]  # 1 - tuned/default, with its lower and upper bound


def measurement(samples: Sequence[float], unit: str) -> Measurement:
    """Return the mean and its t interval. For a single sample, both bounds equal its value, and n is 1."""
    mean = statistics.fmean(samples)
    half = _half_width(samples)
    return Measurement(mean, mean - half, mean + half, len(samples), unit)


def paired_gain(defaults: Sequence[float], tuned: Sequence[float]) -> Gain:
    """Estimate 1 - tuned/default with its bounds, from pairs whose runs follow each other in random order.

    With r_i = ln(tuned_i / default_i) and m their mean: gain = 1 - exp(m). Its bounds enclose two intervals of the r_i:
    Student's interval, m -+ t(0.975, n - 1) s / sqrt(n), and, if there are at least `RANKED` pairs, the interval of
    Wilcoxon's signed ranks, which does not assume normal noise. Anything that slows both runs of a pair equally cancels
    out. Raise ValueError unless there are at least two pairs of positive values.
    """
    return _gain(*_logarithms(defaults, tuned))


def gain_of_sessions(sessions: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Gain:
    """Estimate the gain from the (defaults, tuned) of sessions, each measured in a separate job at a different time.

    A session may favor one setting in all its pairs, because of the nodes of its ranks or because of other jobs. No
    interval computed from these pairs can show this. The gain is computed from the mean over the sessions. Its bounds
    enclose the bounds of every session, extended on either side by the largest difference between sessions' gains. For
    one session, the result is that of `paired_gain`.
    """
    means, lows, highs = zip(*(_logarithms(*session) for session in sessions), strict=True)
    apart = max(means) - min(means)
    return _gain(statistics.fmean(means), min(lows) - apart, max(highs) + apart)


def gain_of_jobs(sessions: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Gain:
    """Estimate the gain from the (defaults, tuned) of sessions in which every run was a separate job.

    The runs of a session are independent, since they share neither an allocation of nodes nor a start. All pairs are
    therefore pooled, with m the mean of the ln(tuned_i / default_i). The bounds are m -+ sqrt(h^2 + a^2 + d^2): h is
    the distance to the bounds of `paired_gain` for the pooled pairs, a is the largest difference between sessions'
    means, and d = 1.96 `DRIFT` / sqrt(sessions). A single session has the bounds of `paired_gain`, which also documents
    the errors raised.
    """
    if len(sessions) == 1:
        return paired_gain(*sessions[0])
    defaults, tuned = (list(itertools.chain(*side)) for side in zip(*sessions, strict=True))
    mean, low, high = _logarithms(defaults, tuned)
    means = [_logarithms(*session)[0] for session in sessions]
    drift = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * DRIFT / math.sqrt(len(sessions))
    beyond = math.hypot(max(means) - min(means), drift)
    return _gain(mean, mean - math.hypot(mean - low, beyond), mean + math.hypot(high - mean, beyond))


def _gain(mean: float, low: float, high: float) -> Gain:
    """Convert the logarithm of tuned/default, with its bounds, to a gain with bounds."""
    return 1 - math.exp(mean), 1 - math.exp(high), 1 - math.exp(low)


def _logarithms(defaults: Sequence[float], tuned: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of ln(tuned/default) with its bounds."""
    if len(defaults) < 2 or min(*defaults, *tuned) <= 0:
        raise ValueError("a gain needs at least two pairs of positive values")
    ratios = [math.log(b / a) for a, b in zip(defaults, tuned, strict=True)]
    mean, half = statistics.fmean(ratios), _half_width(ratios)
    low, high = _ranked(ratios) if len(ratios) >= RANKED else (mean, mean)
    return mean, min(low, mean - half), max(high, mean + half)


def _ranked(samples: Sequence[float]) -> tuple[float, float]:
    """Return 95 % confidence bounds on the center of the samples' distribution, by Wilcoxon's signed ranks.

    The bounds are two of the sorted means of all pairs of samples, including each sample with itself. The number of
    means that are left out at each end follows from the ranks' exact distribution (Hollander and Wolfe 1999, section
    3.3).
    """
    averages = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(samples, 2))
    left_out = _rank_quantile(len(samples))
    return averages[left_out], averages[-1 - left_out]


@functools.cache
def _rank_quantile(n: int) -> int:
    """Return the 2.5 % quantile of Wilcoxon's signed-rank statistic, minus 1.

    The statistic is the sum of the ranks of the positive samples, among `n` samples from a distribution symmetric about
    0. The quantile is the greatest k for which the statistic is below k with a probability of at most 2.5 %. With fewer
    than 6 samples, the quantile is 0, and the result (-1) must not be used.
    """
    ways = [1]  # ways[s]: number of subsets of the ranks so far whose sum is s
    for rank in range(1, n + 1):
        ways = [a + b for a, b in itertools.zip_longest(ways, [0] * rank + ways, fillvalue=0)]
    below = itertools.accumulate(ways)
    return sum(count <= float(2**n) * (1 - CONFIDENCE) / 2 for count in below) - 1


def _half_width(samples: Sequence[float]) -> float:
    n = len(samples)
    if n < 2:
        return 0.0
    from scipy.special import stdtrit  # this import takes longer than most commands

    return float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * statistics.stdev(samples) / math.sqrt(n)
