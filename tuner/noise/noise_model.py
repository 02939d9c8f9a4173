# SPDX-License-Identifier: Apache-2.0
"""A model of noisy measurements: a Gaussian process with replicates, time, heavy tails and skew.

The model is y = f(x) + u(x) + b(t) + e, where y is the logarithm of a measured value. f is smooth over the grid. u is
each point's deviation from f. b is the effect of the machine's state at time t, which is similar for trials close in
time. e is the noise of one run: Student-t with `TAILS` degrees of freedom, wider on the side with the larger residuals
(interference makes runs slower). u is also Student-t for points with several runs. If u were normal, and the runs of a
point agreed but lay far from all other points, the difference would be taken for noise. Because both tails are heavy, f
+ u is the value of a typical run; `on_average` gives the mean over all runs, including bursts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import log_ndtr

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

TAILS = 2.0  # degrees of freedom of the noise; one run in ten may be far off without moving the point's estimate
# degrees of freedom of the deviation u of points with several runs, which may be far better than their neighbors
OWN_TAILS = 4.0
MEMORY = 4.0  # number of trials after which the correlation of the machine's state has fallen to 1/e
ROUNDS = 8  # rounds of reweighting, after which the weights have settled
# Maximum number of fits of the parameters, each followed by ROUNDS / 2 reweightings; the fits end earlier if no
# parameter's logarithm moves by SETTLED or more.
CLIMBS, SETTLED = 6, 0.05
JITTER = 1e-8
SAME = 1e-9  # relative difference up to which values count as equal
MOST_EXCESS = 1.0  # maximum excess of a run, as a share of its point's usual value; any more is ignored
SKEW = 20.0  # maximum factor by which the variance of one side of the noise exceeds the overall variance

# Priors of the parameters' logarithms, for values standardized to variance 1: mean and standard deviation for each
# parameter. The noise may be anything from none to much more than the variation between points. Points are assumed to
# deviate from f until runs show otherwise, so that the model trusts a point whose runs agree.
LENGTH, SMOOTH, OWN, TIME, NOISE = range(5)
PRIOR_MEAN = np.log([1.5, 1.0, 0.2, 0.01, 0.2])
PRIOR_DEVIATION = np.array([0.7, 1.0, 0.5, 1.5, 2.0])
LEAST, MOST = 6, 3  # limits of the search for the parameters, in standard deviations below and above the prior's mean


@dataclass(frozen=True)
class Data:
    """The measurements to which the model is fitted.

    `sites`: shape (points, columns), the encoded points that were measured. `site`: shape (runs,), each run's row in
    `sites`. `when`: shape (runs,), each run's position in the history. `values`: shape (runs,), the measured values, or
    their logarithms if `logarithms` is set.
    """

    sites: Array
    site: Index
    when: Array
    values: Array
    logarithms: bool

    @cached_property
    def squares(self) -> Array:
        """Squared distances between the measured points."""
        return squares(self.sites, self.sites)

    @cached_property
    def same(self) -> Array:
        """1 where two runs are of the same point, otherwise 0; shape (runs, runs)."""
        return np.asarray(self.site[:, None] == self.site[None, :], dtype=np.float64)

    @cached_property
    def near(self) -> Array:
        """Correlation of the machine's state between runs, shape (runs, runs): exp(-|t - t'| / MEMORY)."""
        return np.asarray(np.exp(-np.abs(self.when[:, None] - self.when[None, :]) / MEMORY))


@dataclass(frozen=True)
class Weights:
    """Divisors of the variances: of each run's noise, shape (runs,), and of each point's deviation, shape (points,)."""

    runs: Array
    points: Array

    @classmethod
    def even(cls, data: Data) -> Weights:
        """Return weights of 1."""
        return cls(np.ones(len(data.values)), np.ones(len(data.sites)))


def squares(left: Array, right: Array) -> Array:
    """Return squared Euclidean distances, shape (rows of left, rows of right)."""
    total = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
    return np.asarray(np.maximum(total, 0.0))


def fit(data: Data, start: Array = PRIOR_MEAN) -> Array:
    """Fit parameters and weights; return the logarithms of the parameters with the maximum posterior density."""
    weights = Weights.even(data)
    theta = start
    for _ in range(CLIMBS):
        before, theta = theta, _climb(data, weights, theta)
        for _ in range(ROUNDS // 2):
            weights = reweighted(data, theta, weights)
        if np.abs(theta - before).max() < SETTLED:
            break
    return theta


def _climb(data: Data, weights: Weights, start: Array) -> Array:
    values = standardized(data.values)[0]
    own = data.same / weights.points[data.site]

    def loss(theta: Array) -> tuple[float, Array]:
        parts = np.exp(theta)
        smooth = _smooth(data, parts)
        stretch = smooth * data.squares / parts[LENGTH] ** 2
        pick = np.ix_(data.site, data.site)
        derivatives = [
            stretch[pick],
            smooth[pick],
            parts[OWN] * own,
            parts[TIME] * data.near,
            np.diag(parts[NOISE] / weights.runs),
        ]
        covariance = sum(derivatives[SMOOTH:], np.zeros_like(data.same))
        covariance[np.diag_indices_from(covariance)] += JITTER
        factor = cho_factor(covariance, lower=True)
        inverse = cho_solve(factor, np.eye(len(values)))
        alpha = inverse @ values
        off = (theta - PRIOR_MEAN) / PRIOR_DEVIATION
        value = 0.5 * values @ alpha + np.log(np.diag(factor[0])).sum() + 0.5 * off @ off
        inner = inverse - np.outer(alpha, alpha)
        gradient = np.array([0.5 * (inner * d).sum() for d in derivatives]) + off / PRIOR_DEVIATION
        return float(value), gradient

    bounds = list(zip(PRIOR_MEAN - LEAST * PRIOR_DEVIATION, PRIOR_MEAN + MOST * PRIOR_DEVIATION, strict=True))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 30})
    return np.asarray(found.x)


def standardized(values: Array) -> tuple[Array, float, float]:
    """Return (standardized values, center, scale), by median and quartiles, so that outliers do not set the scale."""
    low, centre, high = np.quantile(values, [0.25, 0.5, 0.75])
    scale = float((high - low) / 1.349) or float(values.std()) or 1.0
    return (values - centre) / scale, float(centre), scale


def reweighted(data: Data, theta: Array, weights: Weights) -> Weights:
    """Return the weights after one round of expectation-maximization.

    For Student-t noise, a run's weight is w = (nu + 1) / (nu + E[e^2] / variance), with the variance of the side on
    which e lies. The formula also applies to the deviations u of points with several runs, whose two sides have equal
    variances. The standard deviations of the two sides of e are proportional to the cube roots of their sums of
    squares, as in the maximum likelihood of a two-piece normal distribution (John 1982).
    """
    noise, own = math.exp(theta[NOISE]), math.exp(theta[OWN])
    # e = N K^-1 y, where N is the noise's covariance; the posterior variance of e is diag(N - N K^-1 N). The formulas
    # for u are the same, with the covariance of u in place of N.
    part = noise / weights.runs
    factor = cho_factor(_covariance(data, theta, weights) + np.diag(part + JITTER), lower=True)
    inverse = cho_solve(factor, np.eye(len(part)))
    alpha = cho_solve(factor, standardized(data.values)[0])
    error = part * alpha
    variance = part - part**2 * np.diag(inverse)
    size = error**2 + np.maximum(variance, 0)
    of = np.equal.outer(np.arange(len(data.sites)), data.site).astype(np.float64)
    wide = own / weights.points
    spread = wide - wide**2 * ((of @ inverse) * of).sum(axis=1)
    deviation = (wide * (of @ alpha)) ** 2 + np.maximum(spread, 0)
    slow = error > 0
    above, below = (error[slow] ** 2).sum() + noise, (error[~slow] ** 2).sum() + noise
    skew = float(np.clip((above / below) ** (1 / 3), 1 / SKEW, SKEW))
    side = np.where(slow, 1 / skew, skew)
    return Weights(
        np.asarray(side * (TAILS + 1) / (TAILS + side * size / noise)),
        np.where(of.sum(axis=1) > 1, (OWN_TAILS + 1) / (OWN_TAILS + deviation / own), 1.0),
    )


def _smooth(data: Data, parts: Array) -> Array:
    """Return the covariance of f at the measured points; `parts` are the parameters, not their logarithms."""
    return np.asarray(parts[SMOOTH] * np.exp(-data.squares / (2 * parts[LENGTH] ** 2)))


def _covariance(data: Data, theta: Array, weights: Weights) -> Array:
    parts = np.exp(theta)
    points = _of_points(data, parts, weights)
    return np.asarray(points[np.ix_(data.site, data.site)] + parts[TIME] * data.near)


def _of_points(data: Data, parts: Array, weights: Weights) -> Array:
    """Return the covariance of f + u at the measured points."""
    return np.asarray(_smooth(data, parts) + np.diag(parts[OWN] / weights.points))


@dataclass(frozen=True)
class Posterior:
    """Posterior of f + u at the n measured points, in units of the values.

    `mean`: shape (n,). `covariance`: shape (n, n). `noise`: the variance of one more run (1 / Fisher information),
    including the machine's state. `rest`: shape (runs,), the part of each run's value that neither the point nor the
    machine's state explains.
    """

    mean: Array
    covariance: Array
    noise: float
    rest: Array

    @property
    def deviation(self) -> Array:
        """Standard deviation of the posterior at each point, shape (n,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0)))

    def with_run(self, point: int) -> Posterior:
        """Return the posterior after one more run, with a still unknown value, of the point with index `point`."""
        column = self.covariance[:, point]
        total = self.covariance[point, point] + self.noise
        moved = np.outer(column, column) / (total or 1.0)  # avoids 0 / 0 if the value is certain
        return replace(self, covariance=self.covariance - moved)


def posterior(data: Data, theta: Array) -> Posterior:
    """Return the posterior at the measured points, in the order of `data.sites`."""
    weights = Weights.even(data)
    for _ in range(ROUNDS):
        weights = reweighted(data, theta, weights)
    parts = np.exp(theta)
    prior = _of_points(data, parts, weights)
    cross = prior[:, data.site]
    factor = cho_factor(_covariance(data, theta, weights) + np.diag(parts[NOISE] / weights.runs + JITTER), lower=True)
    values, centre, scale = standardized(data.values)
    alpha = cho_solve(factor, values)
    mean = cross @ alpha
    return Posterior(
        mean * scale + centre,
        (prior - cross @ cho_solve(factor, cross.T)) * scale**2,
        (parts[NOISE] * (TAILS + 3) / (TAILS + 1) + parts[TIME]) * scale**2,
        (values - mean[data.site] - parts[TIME] * data.near @ alpha) * scale,
    )


def agreements(data: Data) -> int:
    """Return the number of repeated runs that equal their point's first run (up to `SAME`), or 0 if any differs."""
    first = data.values[np.unique(data.site, return_index=True)[1]]
    off = np.abs(data.values - first[data.site])
    same = off <= SAME * (1.0 if data.logarithms else np.abs(data.values))
    return len(data.values) - len(first) if same.all() else 0


def exact(data: Data) -> Posterior:
    """Return the posterior without noise: every point has the value of its first run."""
    first = data.values[np.unique(data.site, return_index=True)[1]]
    return Posterior(first, np.zeros((len(first), len(first))), 0.0, np.zeros(len(data.values)))


def _not_negative(estimate: float, error: float) -> float:
    """Return the expected value of a non-negative quantity, given a normal estimate and its standard error."""
    if not error:
        return max(0.0, estimate)
    z = estimate / error
    return estimate + error * math.exp(-(z**2) / 2 - math.log(2 * math.pi) / 2 - float(log_ndtr(z)))


def on_average(data: Data, found: Posterior) -> Posterior:
    """Return the posterior of each point's mean over all runs, which exceeds a typical run if bursts hit some runs.

    A run's excess is its `rest`. A point's mean excess is shrunk toward the mean of all points. The analysis of
    variance of the points with several runs gives the variances w within and b between points; for a point with n runs,
    the factor is n b / (n b + w). The uncertainty of the result, b w / (n b + w), is added to that of the point. With
    few runs, the estimate of b is often 0 or less, which would mean that bursts hit all points equally. The function
    therefore uses the expected value of b, given that b is not negative (`_not_negative`).
    """
    runs = np.bincount(data.site, minlength=len(data.sites))
    excess = np.minimum(np.expm1(found.rest), MOST_EXCESS) if data.logarithms else found.rest
    means = np.bincount(data.site, excess) / runs
    several = runs > 1
    counted = several[data.site]
    total, groups = int(counted.sum()), int(several.sum())
    if groups < 2:
        return found
    mean = float(excess[counted].mean())
    within = float(((excess - means[data.site])[counted] ** 2).sum()) / (total - groups)
    among = float((runs * (means - mean) ** 2)[several].sum()) / (groups - 1)
    size = (total - float((runs[several] ** 2).sum()) / total) / (groups - 1)
    # standard error of the estimate of b, if there is no variance between points
    error = within / size * math.sqrt(2 / (groups - 1) + 2 / (total - groups))
    between = _not_negative((among - within) / size, error)
    if not between:
        return found
    factor = between / (runs * between + within)
    own = mean + (means - mean) * runs * factor
    added = np.log1p(own) if data.logarithms else own
    return replace(found, mean=found.mean + added, covariance=found.covariance + np.diag(factor * within))
