# SPDX-License-Identifier: Apache-2.0
"""Run times on a file system that others use, too: as those of Robert 2021, table 5.8."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

USUAL = 0.11  # what the others cost a run on average, as a share of its run time
UNEVEN = 0.4  # how that differs between points: sigma of its logarithm
RARE = 0.05  # share of runs that meet a burst of the others
BURST = (0.3, 1.1)  # what that costs, as a share of the run time


def repeated(run_times: Vector, repetitions: int, rng: np.random.Generator) -> Vector:
    """`repetitions` noisy run times (columns) for each undisturbed one (rows).

    Never faster than undisturbed, skewed, each point with a spread of its own, and about one outlier a point.
    """
    shape = len(run_times), repetitions
    usual = USUAL * rng.lognormal(-(UNEVEN**2) / 2, UNEVEN, (shape[0], 1))
    bursts = (rng.random(shape) < RARE) * rng.uniform(*BURST, shape)
    noise: Vector = rng.gamma(2.0, usual / 2.0, shape) + bursts
    return run_times[:, None] * (1 + noise)
