# SPDX-License-Identifier: Apache-2.0
"""Scaling of values for a model, so that the result does not depend on the values' unit."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def warp(values: Vector, how: str) -> Vector:
    """Scale values to mean 0 and standard deviation 1 (all 0 if they are equal), without changing their ranks.

    `plain` only standardizes the values. `log` standardizes their logarithms if all values are positive, since run
    times differ by factors. `warped` combines the result of `log` equally with normal scores, Phi^-1((rank - 1/2) / n),
    so that a few very slow points do not dominate the model.
    """
    scaled = np.log(values) if how != "plain" and values.min() > 0 else values
    if how != "warped":
        return _standardized(scaled)
    from scipy.special import ndtri

    scores: Vector = ndtri((_ranks(values) - 0.5) / len(values))
    return _standardized(_standardized(scaled) + _standardized(scores))


def truncated_mean(mean: Vector, deviation: Vector, bound: Vector) -> Vector:
    """Return the expected value of a normal variable, given that it exceeds `bound`.

    The formula is mu + sigma phi(a) / (1 - Phi(a)) with a = (bound - mu) / sigma. Hutter, Hoos and Leyton-Brown 2013
    (Bayesian optimization with censored response data, section 3) impute censored run times with it.
    """
    from scipy.special import erfcx

    sigma = np.maximum(deviation, 1e-9)
    with np.errstate(over="ignore"):
        hazard = math.sqrt(2 / math.pi) / erfcx((bound - mean) / sigma / math.sqrt(2))
    expected: Vector = np.maximum(mean + sigma * hazard, bound)
    return expected


def _ranks(values: Vector) -> Vector:
    """Return ranks, counted from 1; equal values share their mean rank.

    This function replaces scipy.stats.rankdata, which takes half a second to import.
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Vector = (last - (counts - 1) / 2)[place]
    return ranks


def _standardized(values: Vector) -> Vector:
    """Return standardized values; values that are constant up to rounding become 0."""
    largest = float(np.abs(values).max())
    off: Vector = values - values.mean()
    spread = float(off.std())
    result: Vector = off / (spread if spread > 1e-12 * largest else math.inf)
    return result
