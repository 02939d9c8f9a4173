# SPDX-License-Identifier: Apache-2.0
"""Logarithm of the expected improvement of points, for minimization."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

FAR = -1e3  # for z below this, 1 + z Phi(z) / phi(z) equals 1 / z^2 to six digits


def log_expected_improvement(mean: Vector, deviation: Vector, best: float) -> Vector:
    """Return log EI, where EI = (f* - mu) Phi(z) + sigma phi(z) and z = (f* - mu) / sigma (Robert 2021, eq. 3.3).

    EI = sigma h(z), where h(z) = phi(z) + z Phi(z). For low z, h underflows and all points would look equal. For such
    z, the formula is log h(z) = log phi(z) + log(1 + z Phi(z) / phi(z)), where Phi(z) / phi(z) = sqrt(pi / 2) erfcx(-z
    / sqrt 2) (Ament et al. 2023, Unexpected improvements to expected improvement, section 4). If sigma is 0, EI is
    max(f* - mu, 0).
    """
    gain = best - mean
    certain = deviation <= 0
    sigma = np.where(certain, 1.0, deviation)
    with np.errstate(divide="ignore"):
        known = np.log(np.maximum(gain, 0.0))
    return np.where(certain, known, np.log(sigma) + _log_h(gain / sigma))


def _log_h(z: Vector) -> Vector:
    from scipy.special import erfcx, ndtr

    near, low = np.maximum(z, -1.0), np.minimum(z, -1.0)
    mild = np.log(np.exp(-(near**2) / 2) / math.sqrt(2 * math.pi) + near * ndtr(near))
    ratio = low * math.sqrt(math.pi / 2) * erfcx(-low / math.sqrt(2))
    tail = np.where(low > FAR, np.log1p(np.where(low > FAR, ratio, 0.0)), -2 * np.log(-low))
    return np.where(z > -1.0, mild, -(low**2) / 2 - math.log(2 * math.pi) / 2 + tail)
