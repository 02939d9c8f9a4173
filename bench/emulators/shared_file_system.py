# SPDX-License-Identifier: Apache-2.0
"""Run times on a file system shared with others, as in Robert 2021, table 5.8."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

USUAL = 0.11  # average cost of the others, as a share of the run time
UNEVEN = 0.4  # sigma of the logarithm of that cost, over points
RARE = 0.05  # share of runs during a burst of the others
BURST = (0.3, 1.1)  # cost of a burst, as a share of the run time


def repeated(run_times: Vector, repetitions: int, rng: np.random.Generator) -> Vector:
    """Return `repetitions` noisy run times (columns) for each undisturbed one (rows).

    They are never faster than undisturbed and skewed; each point has a different spread and about one outlier.
    """
    shape = len(run_times), repetitions
    usual = USUAL * rng.lognormal(-(UNEVEN**2) / 2, UNEVEN, (shape[0], 1))
    bursts = (rng.random(shape) < RARE) * rng.uniform(*BURST, shape)
    noise: Vector = rng.gamma(2.0, usual / 2.0, shape) + bursts
    return run_times[:, None] * (1 + noise)
