# SPDX-License-Identifier: Apache-2.0
"""The effect of other jobs on run times, with a shared file: the three profiles of Robert 2021, tables 5.3 to 5.5.

Jobs arrive every 60, 120 or 300 s. The source has their cost for a run in average seconds, and as a figure. With 60 s
every run is slower by about the same time, with 120 s by a different time, never by 0, and with 300 s one run is much
slower and the next ones are normal (with the heavy tail of a Cauchy distribution).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BEST_S = 8.88  # the best run time without noise, which the average costs refer to (table 5.2)
DEFAULT_RUN_S = 30.0  # the average costs are 7, 19 and 15 % of it, as in table 5.5
IMPULSE_SPREAD = 0.8  # sigma of the logarithm of an impulse


@dataclass(frozen=True)
class Interference:
    """One profile. `average` is the mean cost of a run, as a share of the best run time."""

    interval_s: float
    average: float

    def cost(self, clock_s: float, run_time_s: float, best_s: float, rng: np.random.Generator) -> float:
        """Return the extra seconds that the others cost a run that starts at `clock_s`; `best_s` is the optimum."""
        mean = self.average * best_s
        if self.interval_s <= 60:  # another job is always running
            return float(mean * np.clip(rng.normal(1.0, 0.15), 0.5, 1.5))
        if self.interval_s <= 120:
            return float(mean * (0.2 + 0.8 * rng.gamma(1.0)))
        arrivals = (clock_s + run_time_s) // self.interval_s - clock_s // self.interval_s
        impulse = mean * self.interval_s / (DEFAULT_RUN_S / BEST_S * best_s)
        return float(arrivals * impulse * rng.lognormal(-(IMPULSE_SPREAD**2) / 2, IMPULSE_SPREAD))


PROFILES = {
    "shift": Interference(60.0, 2.04 / BEST_S),
    "unstable": Interference(120.0, 5.65 / BEST_S),
    "impulses": Interference(300.0, 4.56 / BEST_S),
}
