# SPDX-License-Identifier: Apache-2.0
"""Means and gains with 95 % confidence bounds, for few samples.

Student's t with n - 1 degrees of freedom and the sample standard deviation (n - 1 in its denominator): with 1.96 and n
instead, as is common, the interval of 5 samples is a third too narrow.
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
"""Assumed deviation, as a logarithm, of the advantage that one of two settings has at one time only, though every run
is a job of its own. Two sessions cannot measure it; if it is larger, it shows in how far apart they are."""
RANKED = 6  # pairs from which on signed ranks have bounds of 95 %: 2 / 2^6 is the chance that all agree by luck

Gain = tuple[float, float, float]  # 1 - tuned/default, with its lower and upper bound


def measurement(samples: Sequence[float], unit: str) -> Measurement:
    """Mean and t interval. A single sample says nothing of its error: its bounds are itself, and n tells."""
    mean = statistics.fmean(samples)
    half = _half_width(samples)
    return Measurement(mean, mean - half, mean + half, len(samples), unit)


def paired_gain(defaults: Sequence[float], tuned: Sequence[float]) -> Gain:
    """Estimate 1 - tuned/default with its bounds, from pairs whose runs follow each other in random order.

    With r_i = ln(tuned_i / default_i) and m their mean: gain = 1 - exp(m). Its bounds enclose two intervals of the r_i:
    Student's, m -+ t(0.975, n - 1) s / sqrt(n), and from `RANKED` pairs on the one of Wilcoxon's signed ranks, which
    assumes nothing of the noise. What slows both runs of a pair alike cancels out. Needs two pairs of positive values
    at least; raises ValueError otherwise.
    """
    return _gain(*_logarithms(defaults, tuned))


def gain_of_sessions(sessions: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Gain:
    """Estimate the gain from the (defaults, tuned) of sessions, each measured in another job at another time.

    A session may favour a setting in all its pairs alike, by where its ranks lie or what else runs, and no interval of
    its own pairs knows. The gain is that of the mean over the sessions. Its bounds enclose those of each session, and
    go beyond them on either side by as much as the sessions' own gains are apart. Of one session: `paired_gain`.
    """
    means, lows, highs = zip(*(_logarithms(*session) for session in sessions), strict=True)
    apart = max(means) - min(means)
    return _gain(statistics.fmean(means), min(lows) - apart, max(highs) + apart)


def gain_of_jobs(sessions: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Gain:
    """Estimate the gain from the (defaults, tuned) of sessions in which every run was a job of its own.

    The runs of a session share no nodes and no start, so all pairs are pooled, with m the mean of the
    ln(tuned_i / default_i). The bounds are m -+ sqrt(h^2 + a^2 + d^2): h reaches to the bounds of `paired_gain` for the
    pooled pairs, a is how far the sessions' own means are apart, and d = 1.96 `DRIFT` / sqrt(sessions). A single
    session has the bounds of `paired_gain`, which also says what is raised.
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
    """From a logarithm of tuned/default and its bounds."""
    return 1 - math.exp(mean), 1 - math.exp(high), 1 - math.exp(low)


def _logarithms(defaults: Sequence[float], tuned: Sequence[float]) -> tuple[float, float, float]:
    """The mean of ln(tuned/default) with its bounds."""
    if len(defaults) < 2 or min(*defaults, *tuned) <= 0:
        raise ValueError("a gain needs two pairs of positive values at least")
    ratios = [math.log(b / a) for a, b in zip(defaults, tuned, strict=True)]
    mean, half = statistics.fmean(ratios), _half_width(ratios)
    low, high = _ranked(ratios) if len(ratios) >= RANKED else (mean, mean)
    return mean, min(low, mean - half), max(high, mean + half)


def _ranked(samples: Sequence[float]) -> tuple[float, float]:
    """The bounds of the centre by Wilcoxon's signed ranks: so many of the means of two samples (each with itself, too)
    are left out at each end as the ranks' exact distribution allows (Hollander and Wolfe 1999, section 3.3)."""
    averages = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(samples, 2))
    left_out = _rank_quantile(len(samples))
    return averages[left_out], averages[-1 - left_out]


@functools.cache
def _rank_quantile(n: int) -> int:
    """The greatest k so that the positive ranks of n samples around 0 sum up to less than k in 2.5 % of cases at most,
    less 1. From 6 samples on there is one."""
    ways = [1]  # in which the ranks so far sum up to each number
    for rank in range(1, n + 1):
        ways = [a + b for a, b in itertools.zip_longest(ways, [0] * rank + ways, fillvalue=0)]
    below = itertools.accumulate(ways)
    return sum(count <= float(2**n) * (1 - CONFIDENCE) / 2 for count in below) - 1


def _half_width(samples: Sequence[float]) -> float:
    n = len(samples)
    if n < 2:
        return 0.0
    from scipy.special import stdtrit  # takes longer than most commands

    return float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * statistics.stdev(samples) / math.sqrt(n)
