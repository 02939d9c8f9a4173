# SPDX-License-Identifier: Apache-2.0
"""What a campaign on a proxy says of its settings, and whether the application said the same. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from reprise.database.entities import Trial, TrialRole
from reprise.tuner.model.space import Parametrization, Value
from reprise.tuner.proxy.agreement import Agreement, Ratios, Times, agreement, ratios

DEFAULT = "the default"
ROLES = (TrialRole.DEFAULT, TrialRole.SEARCH)


def times(trials: Sequence[Trial], default: Parametrization) -> dict[str, list[float]]:
    """Seconds of the default and of the search's points, by the words for them; without trials that failed."""
    found: dict[str, list[float]] = {}
    for trial in trials:
        if trial.role in ROLES and trial.value is not None:
            found.setdefault(in_words(trial.parametrization, default), []).append(trial.value)
    return found


def in_words(point: Parametrization, default: Parametrization) -> str:
    """Return the values of a point that are not the default's, in words."""
    changed = [f"{name}={value}" for name, value in _changes(point, default).items()]
    return ", ".join(changed) or DEFAULT


def to_try(trials: Sequence[Trial], default: Parametrization, count: int) -> list[Parametrization]:
    """Return the points that the application tries: the best of the proxy's search and its worst, by their means.

    The first is the simplest of those that noise does not distinguish from the best. The worst comes second: it shows
    whether the proxy ranks as the application does. If the proxy finds nothing faster than its default, only the best
    is worth a run.
    """
    points = {json.dumps(trial.parametrization, sort_keys=True): trial.parametrization for trial in trials}
    known = times(trials, default)
    mean = {words: sum(values) / len(values) for words, values in known.items()}
    ranked = sorted(
        (point for point in points.values() if in_words(point, default) in mean),
        key=lambda p: mean[in_words(p, default)],
    )
    changed = [point for point in ranked if in_words(point, default) != DEFAULT]
    if not changed:
        return []
    best = [point for point in changed if mean[in_words(point, default)] < mean.get(DEFAULT, float("inf"))]
    if not best:
        return changed[:1]
    close = mean[in_words(best[0], default)] * (1 + noise(known))
    equal = [point for point in best if mean[in_words(point, default)] <= close]
    simplest = min(equal, key=lambda point: len(_changes(point, default)))
    others = [point for point in best if point is not simplest]
    return [simplest, changed[-1], *others[: count - 2]]


def noise(known: Times) -> float:
    """Return the relative standard deviation of runs at one setting, pooled over the settings that ran repeatedly."""
    repeated = [values for values in known.values() if len(values) > 1]
    squares = sum((value / fmean(values) - 1) ** 2 for values in repeated for value in values)
    freedom = sum(len(values) - 1 for values in repeated)
    return math.sqrt(squares / freedom) if freedom else 0.0


def _changes(point: Parametrization, default: Parametrization) -> dict[str, Value]:
    """Return the values that are not the default's."""
    return {name: value for name, value in point.items() if value != default.get(name)}


@dataclass(frozen=True)
class Ranked:
    """`first`: the points that the application tries first; `seconds`: of the proxy's runs, by the words of a point."""

    first: Sequence[Parametrization]
    seconds: Mapping[str, Sequence[float]]

    @classmethod
    def of(cls, trials: Sequence[Trial], default: Parametrization, count: int) -> Ranked:
        """What the trials of a campaign on a proxy say; `count` points at most are tried first."""
        return cls(to_try(trials, default, count), times(trials, default))

    def agreement(self, trials: Sequence[Trial], default: Parametrization) -> Agreement | None:
        """Whether the proxy chose as its application would, by the application's trials and their default; None where
        they had no two settings in common."""
        both = self._both(trials, default)
        return agreement(*both) if both else None

    def ratios(self, trials: Sequence[Trial], default: Parametrization) -> Ratios | None:
        """What the proxy's choice gains the application; None where they had no two settings in common, or one of them
        did not run as it is."""
        both = self._both(trials, default)
        return ratios(*both, DEFAULT) if both and DEFAULT in both[0] else None

    def _both(self, trials: Sequence[Trial], default: Parametrization) -> tuple[Times, Times] | None:
        """Seconds of the application, which may have more axes, and of the proxy at the settings that both ran at, two
        or more."""
        application = times(trials, default)
        names = self.seconds.keys() & application.keys()
        if len(names) < 2:
            return None
        return {one: application[one] for one in names}, {one: self.seconds[one] for one in names}


def verdict(found: Agreement | None) -> str:
    """What `Ranked.agreement` found, in one line."""
    if found is None:
        return "the proxy and the application had no two settings in common: nothing is known of the proxy"
    if found.agrees:
        return f"the proxy ranks as the application does: {found.reason}"
    return f"the proxy does not rank as the application does, whose own runs decided: {found.reason}"


def to_json(found: Agreement | None, compared: Ratios | None) -> dict[str, Any]:
    """What `Ranked.agreement` and `Ranked.ratios` found, for programs. `loss`: the application's time at the proxy's
    best setting over its best time, less 1."""
    told: dict[str, Any] = {"agrees": None, "best": None, "loss": None}
    if found is not None:
        told = {"agrees": found.agrees, "best": found.best, "loss": found.loss}
    return {**told, "ratios": asdict(compared) if compared else None, "reason": verdict(found)}
