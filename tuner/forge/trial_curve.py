# SPDX-License-Identifier: Apache-2.0
"""Bandwidths by number of forwarders, from the trials of a campaign, and the number whose gain is beyond noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reprise.database.entities import Measurement, Trial, TrialState
from reprise.tuner.model.component import Comparison
from reprise.tuner.model.statistics import measurement
from reprise.tuner.model.trial_rows import INTERRUPTED, OPEN

KEY = "forwarders"
"""The parameter, whose values are numbers of forwarders; 0 is direct access."""


@dataclass(frozen=True)
class Values:
    """Objectives of all runs by number of forwarders, smaller is better, in `unit`."""

    runs: Mapping[int, Sequence[float]]
    unit: str

    def samples(self, bandwidth: Callable[[float], float]) -> dict[int, list[float]]:
        """Return the bandwidths of the runs by number of forwarders; `bandwidth` converts an objective."""
        return {number: [bandwidth(value) for value in self.runs[number]] for number in sorted(self.runs)}


def values(trials: Sequence[Trial]) -> Values:
    """Return the objectives of all completed trials, whatever their role.

    A number of forwarders with which any trial failed or was stopped is left out, because jobs would have to expect the
    same. Number 0 stays, since direct access is what jobs have without Reprise.
    """
    ended = [trial for trial in trials if trial.state not in OPEN | INTERRUPTED]
    measured = [one for one in ended if one.state is TrialState.COMPLETE and one.value is not None]
    failed = {_number(one) for one in ended if one not in measured} - {0}
    runs: dict[int, list[float]] = {}
    for one in measured:
        if _number(one) not in failed and one.value is not None:
            runs.setdefault(_number(one), []).append(one.value)
    return Values(runs, measured[0].unit if measured else "s")


def best(found: Values, comparison: Comparison) -> Comparison | None:
    """Return the comparison of the number of forwarders with direct access that a record is based on.

    It is the campaign's final comparison if that shows a gain beyond noise. Otherwise it is that of the number whose
    gain has the largest lower bound over all its runs, if this is above 0; None if no number has a gain beyond noise.
    """
    if comparison.gain_low > 0 and int(comparison.winner[KEY]) in found.runs:
        return comparison
    if 0 not in found.runs:
        return None
    others = [_compared(found, number, comparison.problem) for number in found.runs if number != 0]
    good = [one for one in others if one.gain_low > 0]
    return max(good, key=lambda one: one.gain_low, default=None)


def _compared(found: Values, number: int, problem: str) -> Comparison:
    """Compare all runs with a number of forwarders with all runs without forwarders.

    The runs are no pairs, so the gain's bounds follow from the bounds of both means. They are wider than those of a
    test of the difference: both 95 % intervals must be apart.
    """
    default, tuned = (measurement(found.runs[one], found.unit) for one in (0, number))
    if min(default.n, tuned.n) < 2 or default.low <= 0:
        return Comparison(problem, {KEY: number}, default, tuned, _gain(default, tuned), -1.0, 1.0)
    low, high = 1 - tuned.high / default.low, 1 - tuned.low / default.high
    return Comparison(problem, {KEY: number}, default, tuned, _gain(default, tuned), low, high)


def _gain(default: Measurement, tuned: Measurement) -> float:
    return 1 - tuned.mean / default.mean


def _number(trial: Trial) -> int:
    return int(trial.parametrization[KEY])
