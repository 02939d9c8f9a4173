# SPDX-License-Identifier: Apache-2.0
"""When a trial that runs too long is stopped, to save node time: a limit on its run time, never on time in the queue.

A trial that reaches its limit is pruned: its value is the limit, a lower bound (censored), never a measurement.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from reprise.config import Section
from reprise.database.entities import Measurement
from reprise.tuner.model.method_settings import read
from reprise.tuner.model.space import Parametrization
from reprise.tuner.noise.noise_policy import Evaluation

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


class HalvingSettings(Section):
    """Of `halving`: successive halving over repetitions, with rungs at 1, 2, 4, 8, ... runs of a point."""

    keep: float = Field(0.5, gt=0, lt=1, description="share of the points of a rung that goes on")
    margin: float = Field(1.25, ge=1, description="see `floor_s`")


POLICIES: Mapping[str, type[Section]] = {
    "none": Section,
    "default": DefaultSettings,
    "estimator": EstimatorSettings,
    "halving": HalvingSettings,
}


def settings_of(policy: str, mapping: Mapping[str, Any]) -> Section:
    """The settings of one of `POLICIES` from a campaign file's. Raises SettingsError with one line."""
    return read(POLICIES, "policy", policy, mapping)


def limit_s(
    history: Sequence[Evaluation],
    default: Measurement | None,
    settings: Section,
    point: Parametrization,
    key: Callable[[Parametrization], Hashable],
) -> float | None:
    """Run time in seconds after which a trial that starts now is stopped; None: none.

    `default`: the default's run time. The initial design is pruned as well once the default was measured. `key`: what
    tells points apart, of a parametrization; `point`: that of the trial.
    """
    if isinstance(settings, HalvingSettings) and default is not None:
        wanted = rung_s(history, settings.keep, point, key)
        return None if wanted is None else max(wanted, floor_s(default, settings.margin))
    if not isinstance(settings, DefaultSettings | EstimatorSettings) or default is None:
        return None
    wanted = default.mean
    if isinstance(settings, EstimatorSettings) and len(runs := _runs(history)) >= LEAST:
        wanted = estimate_s(runs, settings.estimator, settings.quantile)
    return max(settings.factor * wanted, floor_s(default, settings.margin))


def rung_s(
    history: Sequence[Evaluation], keep: float, point: Parametrization, key: Callable[[Parametrization], Hashable]
) -> float | None:
    """What one more run of a point may take, for its mean to be among the best share of those that were run as often.

    Compared are the points that reached its next rung (or the last one that enough of them reached), by the mean of
    their first runs up to there; None where there are too few.
    """
    runs: dict[Hashable, list[Evaluation]] = {}
    for one in history:
        runs.setdefault(key(one.point), []).append(one)
    own = [run for run, _ in _runs(runs.pop(key(point), []))]
    rung = 1 << len(own).bit_length()
    while rung:
        reached = [first for of in runs.values() if len(first := _runs(of)[:rung]) == rung]
        if len(reached) >= LEAST:
            means = [(statistics.fmean(run for run, _ in of), any(cut for _, cut in of)) for of in reached]
            return (len(own) + 1) * estimate_s(means, "quantile", keep) - sum(own)
        rung //= 2
    return None


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
