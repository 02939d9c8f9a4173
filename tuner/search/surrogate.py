# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process with one length scale per axis; its hyperparameters are at the mode of their posterior.

scikit-learn's Gaussian process was not used: it supports neither priors, nor one length scale for all columns of a
category, nor noise divided by the number of replicates, and it took ten times as long to fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reprise.tuner.model.algebra import one_thread

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

CHUNK = 8_192  # number of points to predict at a time, which need some 10 MB with 150 observations
FURTHEST = 6  # limit of the optimizer's search, in standard deviations of the priors; beyond it, exp could overflow
JITTER = 1e-8  # variance added to the diagonal, so that the covariance matrix stays regular if points are equal
STEPS = 40  # maximum number of the optimizer's steps; fits to 5 to 100 points of test functions took 10 to 25


def _matern52(squares: Matrix) -> tuple[Matrix, Matrix]:
    root = np.sqrt(5 * squares)
    decay = np.exp(-root)
    return (1 + root + root**2 / 3) * decay, -5 / 6 * (1 + root) * decay


def _matern32(squares: Matrix) -> tuple[Matrix, Matrix]:
    root = np.sqrt(3 * squares)
    decay = np.exp(-root)
    return (1 + root) * decay, -1.5 * decay


def _rbf(squares: Matrix) -> tuple[Matrix, Matrix]:
    value = np.exp(-squares / 2)
    return value, -value / 2


# Each function returns the correlations at squared distances r^2, and their derivatives with respect to r^2 (Rasmussen
# & Williams 2006, ch. 4).
KERNELS: Mapping[str, Callable[[Matrix], tuple[Matrix, Matrix]]] = {
    "matern52": _matern52,
    "matern32": _matern32,
    "rbf": _rbf,
}


@dataclass(frozen=True)
class Prior:
    """Normal priors (mean, standard deviation) of the logarithms of length scales, signal variance and noise variance.

    Variances are those of standardized values. An axis has width 1, and two different categories are 1 apart.
    """

    length: tuple[float, float] = (math.log(0.5), 0.75)
    category: tuple[float, float] = (0.0, 0.75)
    signal: tuple[float, float] = (0.0, 0.7)
    noise: tuple[float, float] = (math.log(0.02), 1.5)


@dataclass(frozen=True)
class Surrogate:
    """A fitted Gaussian process; `lengths` are the length scales of the axes."""

    kernel: str
    points: Matrix
    axes: npt.NDArray[np.int_]
    lengths: Vector
    signal: float
    noise: float
    factor: Matrix
    weights: Vector

    def predict(self, wanted: Matrix) -> tuple[Vector, Vector]:
        """Return the mean and standard deviation, without measurement noise, for each row of `wanted`."""
        with one_thread():
            return self._predict(wanted)

    def _predict(self, wanted: Matrix) -> tuple[Vector, Vector]:
        from scipy.linalg import solve_triangular

        mean, deviation = np.empty(len(wanted)), np.empty(len(wanted))
        for begin in range(0, len(wanted), CHUNK):
            part = slice(begin, begin + CHUNK)
            cross = self.signal * self._correlation(wanted[part])
            mean[part] = cross @ self.weights
            explained = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
            variance = self.signal - np.einsum("ij,ij->j", explained, explained)
            deviation[part] = np.sqrt(np.maximum(variance, 0.0))
        return mean, deviation

    def _correlation(self, wanted: Matrix) -> Matrix:
        scale = 1 / self.lengths[self.axes]
        a, b = wanted * scale, self.points * scale
        squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
        return KERNELS[self.kernel](np.maximum(squares, 0.0))[0]


def fit(
    points: Matrix,
    values: Vector,
    counts: Vector,
    axes: npt.NDArray[np.int_],
    categories: npt.NDArray[np.bool_],
    kernel: str = "matern52",
    prior: Prior | None = None,
) -> Surrogate:
    """Return the Gaussian process whose hyperparameters are at the mode of their posterior.

    `points` are rows of `encoding.encode`. `values` are standardized. Each value is the mean of as many evaluations as
    `counts` gives for it, and its noise variance is divided by that number.
    """
    with one_thread():
        return _fit(_Posterior(points, values, counts, axes, categories, kernel, prior or Prior()))


def _fit(problem: _Posterior) -> Surrogate:
    from scipy.optimize import minimize

    found = minimize(
        problem, problem.mean, jac=True, method="L-BFGS-B", bounds=problem.bounds, options={"maxiter": STEPS}
    )
    logs = found.x if np.isfinite(found.fun) else problem.mean
    return problem.surrogate(logs)


class _Posterior:
    """Negative logarithm of the posterior density of the hyperparameters, and its gradient.

    The hyperparameters are logarithms: each axis's length scale, the signal variance and the noise variance.
    """

    def __init__(
        self,
        points: Matrix,
        values: Vector,
        counts: Vector,
        axes: npt.NDArray[np.int_],
        categories: npt.NDArray[np.bool_],
        kernel: str,
        prior: Prior,
    ) -> None:
        self._points, self._values, self._counts, self._axes = points, values, counts, axes
        self._kernel = kernel
        self._squares = np.array([_squares(points[:, axes == axis]) for axis in range(len(categories))])
        self._squares = self._squares.reshape(len(categories), len(values), len(values))
        lengths = [prior.category if category else prior.length for category in categories]
        self.mean = np.array([p[0] for p in (*lengths, prior.signal, prior.noise)])
        self._spread = np.array([p[1] for p in (*lengths, prior.signal, prior.noise)])
        reach = FURTHEST * self._spread
        self.bounds = list(zip(self.mean - reach, self.mean + reach, strict=True))

    def __call__(self, logs: Vector) -> tuple[float, Vector]:
        """Return -log p(y | hyperparameters) - log p(hyperparameters), up to a constant, and its gradient.

        See Rasmussen & Williams 2006, eq. 5.8 and 5.9. The value is infinite if the covariance is not positive
        definite.
        """
        from scipy.linalg import cho_solve

        signal, noise = np.exp(logs[-2:])
        inverse_squares = np.exp(-2 * logs[:-2])
        correlation, slope = KERNELS[self._kernel](np.tensordot(inverse_squares, self._squares, 1))
        try:
            factor = self._factor(signal * correlation, noise)
        except np.linalg.LinAlgError:
            return math.inf, np.zeros_like(logs)
        inverse = cho_solve((factor, True), np.eye(len(self._values)), check_finite=False)
        weights = inverse @ self._values
        off = (logs - self.mean) / self._spread
        cost = 0.5 * self._values @ weights + np.log(np.diag(factor)).sum() + 0.5 * off @ off
        sensitivity = 0.5 * (inverse - np.outer(weights, weights))
        shared = sensitivity * slope * signal
        gradient = np.array(
            [
                *(-2 * inverse_squares * np.einsum("ij,aij->a", shared, self._squares)),
                signal * (sensitivity * correlation).sum(),
                noise * (np.diag(sensitivity) / self._counts).sum(),
            ]
        )
        return float(cost), gradient + off / self._spread

    def surrogate(self, logs: Vector) -> Surrogate:
        from scipy.linalg import cho_solve

        signal, noise = (float(value) for value in np.exp(logs[-2:]))
        lengths: Vector = np.exp(logs[:-2])
        correlation = KERNELS[self._kernel](np.tensordot(lengths**-2, self._squares, 1))[0]
        factor = self._factor(signal * correlation, noise)
        weights: Any = cho_solve((factor, True), self._values, check_finite=False)
        return Surrogate(self._kernel, self._points, self._axes, lengths, signal, noise, factor, weights)

    def _factor(self, covariance: Matrix, noise: float) -> Matrix:
        from scipy.linalg import cholesky

        covariance[np.diag_indices(len(covariance))] += noise / self._counts + JITTER
        factor: Matrix = cholesky(covariance, lower=True, check_finite=False)
        return factor


def _squares(columns: Matrix) -> Matrix:
    """Return the squared distances of all pairs of rows."""
    difference = columns[:, None, :] - columns[None, :, :]
    squares: Matrix = np.einsum("ijk,ijk->ij", difference, difference)
    return squares
