# SPDX-License-Identifier: Apache-2.0
"""When a trial that runs too long is stopped, to save node time: a limit on its run time, never on time in the queue.

A trial that reaches its limit is pruned: its value is the limit, a lower bound (censored), never a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from database.model import Measurement
from reprise.config import Section
from tuner.noise.base import Evaluation
from tuner.settings import read

Estimator = Literal["median", "mean", "quantile"]
LEAST = 5  # trials that ended before an estimate of them is of use


class DefaultSettings(Section):
    """Of `default`."""

    factor: float = Field(2.0, ge=1, description="of the default's mean run time")
    margin: float = Field(1.25, ge=1, description="see `floor_s`")


class EstimatorSettings(Section):
    """Of `estimator`. Until enough trials ended, the limit is the default's, times the factor."""

    estimator: Estimator = "median"
    factor: float = Field(1.5, ge=1, description="of the estimate of what ended")
    quantile: float = Field(0.75, ge=0, le=1, description="which, with `estimator: quantile`")
    margin: float = Field(1.25, ge=1, description="see `floor_s`")


POLICIES: Mapping[str, type[Section]] = {"none": Section, "default": DefaultSettings, "estimator": EstimatorSettings}


def settings_of(policy: str, mapping: Mapping[str, Any]) -> Section:
    """The settings of one of `POLICIES` from a campaign file's. Raises SettingsError with one line."""
    return read(POLICIES, "policy", policy, mapping)


def limit_s(history: Sequence[Evaluation], default: Measurement | None, settings: Section) -> float | None:
    """Run time in seconds after which a trial that starts now is stopped; None: none.

    `default`: the default's run time. The initial design is pruned as well once the default was measured.
    """
    if not isinstance(settings, DefaultSettings | EstimatorSettings) or default is None:
        return None
    wanted = default.mean
    if isinstance(settings, EstimatorSettings) and len(runs := _runs(history)) >= LEAST:
        wanted = estimate_s(runs, settings.estimator, settings.quantile)
    return max(settings.factor * wanted, floor_s(default, settings.margin))


def _runs(history: Sequence[Evaluation]) -> list[tuple[float, bool]]:
    """Run times with whether they were cut off, of the trials that did not fail."""
    return [(one.value if one.run_s is None else one.run_s, one.censored) for one in history if one.value is not None]


def estimate_s(runs: Sequence[tuple[float, bool]], estimator: str, quantile: float = 0.5) -> float:
    """Mean or quantile of run times of which some (True) are lower bounds: of the curve of Kaplan and Meier (1958).

    A stopped run's share of the probability goes to the longer ones, and beyond the longest of all to that one (Efron
    1967). To leave stopped runs out, or to take them for measurements, would make the estimate, and with it the next
    limit, smaller and smaller.
    """
    share = 0.5 if estimator == "median" else quantile
    alive, mean = 1.0, 0.0
    ordered = sorted(runs)  # of equal times the stopped ones come last: False < True
    for index, (run, censored) in enumerate(ordered):
        left = len(ordered) - index
        died = alive if left == 1 else 0.0 if censored else alive / left
        alive, mean = alive - died, mean + died * run
        if estimator != "mean" and died and alive <= 1 - share + 1e-12:
            return run
    return mean


def floor_s(default: Measurement, margin: float) -> float:
    """No limit is below `margin` times the default's mean, nor below what one more run of the default may take: with n
    samples and the interval mean +- h of their mean, 97.5 % of new runs end by mean + h sqrt(n + 1)."""
    return max(margin * default.mean, default.mean + (default.high - default.mean) * math.sqrt(default.n + 1))
