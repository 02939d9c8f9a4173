# SPDX-License-Identifier: Apache-2.0
"""Limits on the run time of trials (not on their time in the queue), which save node time.

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
LEAST = 5  # minimum number of ended trials for a useful estimate


class DefaultSettings(Section):
    """Settings of `default`."""

    factor: float = Field(2.0, ge=1, description="limit as a multiple of the default's mean run time")
    margin: float = Field(1.25, ge=1, description="minimum limit as a multiple of the default's mean run time")


class EstimatorSettings(Section):
    """Settings of `estimator`. Until enough trials have ended, the limit is the default's mean times the factor."""

    estimator: Estimator = "median"
    factor: float = Field(1.5, ge=1, description="limit as a multiple of the estimate")
    quantile: float = Field(0.75, ge=0, le=1, description="quantile to use with `estimator: quantile`")
    margin: float = Field(1.25, ge=1, description="minimum limit as a multiple of the default's mean run time")


class HalvingSettings(Section):
    """Settings of `halving`: successive halving over repetitions, with rungs at 1, 2, 4, 8, ... runs of a point."""

    keep: float = Field(0.5, gt=0, lt=1, description="share of the points of a rung to keep")
    margin: float = Field(1.25, ge=1, description="minimum limit as a multiple of the default's mean run time")


POLICIES: Mapping[str, type[Section]] = {
    "none": Section,
    "default": DefaultSettings,
    "estimator": EstimatorSettings,
    "halving": HalvingSettings,
}


def settings_of(policy: str, mapping: Mapping[str, Any]) -> Section:
    """Read the settings of one of `POLICIES` from a campaign file. Raise SettingsError with one line on failure."""
    return read(POLICIES, "policy", policy, mapping)


def limit_s(
    history: Sequence[Evaluation],
    default: Measurement | None,
    settings: Section,
    point: Parametrization,
    key: Callable[[Parametrization], Hashable],
) -> float | None:
    """Return the limit, in seconds, on the run time of a trial that starts now, or None if there is no limit.

    `default` is the default's run time; if it is None, there is no limit. The limit also applies to the initial design.
    `key` returns the identity of a point; `point` is the point of the trial.
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
    """Return the longest next run, in seconds, that keeps a point's mean among the best of the comparable points.

    `keep` is the fraction of the comparable points that count as best. Comparable points are those that reached the
    point's next rung (or the last rung that enough points reached). Each of these points counts with the mean of its
    first runs, up to that rung. Return None if too few points reached any of these rungs.
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
    """Return the run times of the trials that did not fail, and whether each is only a lower bound."""
    return [(one.value if one.run_s is None else one.run_s, one.censored) for one in history if one.value is not None]


def estimate_s(runs: Sequence[tuple[float, bool]], estimator: str, quantile: float = 0.5) -> float:
    """Return the mean or a quantile of run times, where True marks a stopped run's time (Kaplan and Meier 1958).

    The time of a stopped run is a lower bound, so its share of the probability passes to the longer runs; if the
    longest run of all was stopped, that run keeps its share (Efron 1967). If stopped runs were left out or treated as
    measurements, the estimate, and therefore the next limit, would become smaller and smaller.
    """
    share = 0.5 if estimator == "median" else quantile
    alive, mean = 1.0, 0.0
    ordered = sorted(runs)  # among equal times, stopped runs come last: False < True
    for index, (run, censored) in enumerate(ordered):
        left = len(ordered) - index
        died = alive if left == 1 else 0.0 if censored else alive / left
        alive, mean = alive - died, mean + died * run
        if estimator != "mean" and died and alive <= 1 - share + 1e-12:
            return run
    return mean


def floor_s(default: Measurement, margin: float) -> float:
    """Return the lowest limit: the larger of `margin` times the default's mean and a bound on its next run time.

    If n samples give the 95 % interval mean +- h, 97.5 % of new runs take at most mean + h sqrt(n + 1).
    """
    return max(margin * default.mean, default.mean + (default.high - default.mean) * math.sqrt(default.n + 1))
