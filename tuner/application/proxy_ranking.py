# SPDX-License-Identifier: Apache-2.0
"""Ranking of settings by a campaign on a proxy, and its agreement with the application's ranking."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from reprise.database.entities import Trial, TrialRole
from reprise.tuner.model.refuted_ranking import is_refuted
from reprise.tuner.model.space import Parametrization, Value
from reprise.tuner.proxy.agreement import TOLERANCE, Agreement, Ratios, Times, agreement, pooled, ratios

DEFAULT = "the default"
SEARCHED = (TrialRole.DEFAULT, TrialRole.SEARCH)
COMPARED = (TrialRole.FINAL_DEFAULT, TrialRole.FINAL_TUNED)


def times(
    trials: Sequence[Trial], default: Parametrization, roles: Sequence[TrialRole] = SEARCHED
) -> dict[str, list[float]]:
    """Return the seconds of the trials with these roles, by the points' descriptions.

    Failed trials are omitted.
    """
    found: dict[str, list[float]] = {}
    for trial in trials:
        if trial.role in roles and trial.value is not None:
            found.setdefault(in_words(trial.parametrization, default), []).append(trial.value)
    return found


def in_words(point: Parametrization, default: Parametrization) -> str:
    """Describe in words the values in which a point differs from the default."""
    changed = [f"{name}={value}" for name, value in _changes(point, default).items()]
    return ", ".join(changed) or DEFAULT


def to_try(trials: Sequence[Trial], default: Parametrization, count: int) -> list[Parametrization]:
    """Return the points that the application tries: those with the best means on the proxy, and the worst point.

    The first point is the simplest of those that noise does not distinguish from the best. The worst point comes
    second: it shows whether the proxy ranks settings as the application does. If no point is faster than the default on
    the proxy, only the best point is worth a run.
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
    close = mean[in_words(best[0], default)] * (1 + pooled(known)[0])
    equal = [point for point in best if mean[in_words(point, default)] <= close]
    simplest = min(equal, key=lambda point: len(_changes(point, default)))
    worst = [changed[-1]] if changed[-1] is not simplest else []
    others = [point for point in best if point is not simplest and point not in worst]
    return [simplest, *worst, *others[: count - 2]]


def _changes(point: Parametrization, default: Parametrization) -> dict[str, Value]:
    """Return the values that differ from the default."""
    return {name: value for name, value in point.items() if value != default.get(name)}


@dataclass(frozen=True)
class Ranked:
    """Result of a campaign on a proxy.

    `first`: points that the application tries first. `seconds`: times of the proxy's runs, by the points' descriptions.
    """

    first: Sequence[Parametrization]
    seconds: Mapping[str, Sequence[float]]

    @classmethod
    def of(cls, trials: Sequence[Trial], default: Parametrization, count: int) -> Ranked:
        """Rank the points of a campaign on a proxy; the application tries at most `count` of them."""
        return cls(to_try(trials, default, count), times(trials, default))

    def agreement(self, trials: Sequence[Trial], default: Parametrization) -> Agreement | None:
        """Return whether the settings that are best on the proxy are good for the application.

        `trials` are the application's trials, and `default` is the default in these trials. Return None if the
        proxy and the application ran fewer than two settings in common.
        """
        both = self._both(trials, default)
        return agreement(*both) if both else None

    def ratios(self, trials: Sequence[Trial], default: Parametrization) -> Ratios | None:
        """Return the ratios that compare settings tuned on the proxy with settings tuned on the application.

        Return None if the proxy and the application ran fewer than two settings in common, or if one of them did not
        run the default.
        """
        both = self._both(trials, default)
        return ratios(*both, DEFAULT) if both and DEFAULT in both[0] else None

    def is_used(self, trials: Sequence[Trial], default: Parametrization) -> bool:
        """Return whether the application's search used the ranking beyond its best and worst point.

        The search does so unless the application's first runs refute the ranking (`stepwise`). `trials` are the
        application's trials, and `default` is the default in these trials.
        """
        if not self.first:
            return False
        ran = times(trials, default)
        points = [in_words({**default, **point}, default) for point in self.first[:2]]
        means = [fmean(ran[one]) if one in ran else None for one in (*points, DEFAULT)]
        return not is_refuted(means[0], means[1:], TOLERANCE)

    def _both(self, trials: Sequence[Trial], default: Parametrization) -> tuple[Times, Times] | None:
        """Return the seconds of the application and of the proxy at the settings that both ran.

        Return None if there are fewer than two such settings. The application's campaign may have axes that the proxy's
        lacks. The runs of the final comparison count, too: in the search, most settings run only once, and the fastest
        of several single runs is partly luck.
        """
        application = times(trials, default, (*SEARCHED, *COMPARED))
        names = self.seconds.keys() & application.keys()
        if len(names) < 2:
            return None
        return {one: application[one] for one in names}, {one: self.seconds[one] for one in names}


def verdict(found: Agreement | None) -> str:
    """Return the result of `Ranked.agreement` in one line."""
    if found is None:
        return "the proxy and the application have fewer than two settings in common: the proxy cannot be judged"
    if found.agrees:
        return f"the proxy ranks as the application does: {found.reason}"
    return f"the proxy does not rank as the application does, so the application's runs decided: {found.reason}"


def to_json(found: Agreement | None, compared: Ratios | None, used: bool) -> dict[str, Any]:
    """Return the results of `Ranked.agreement`, `Ranked.ratios` and `Ranked.is_used` for programs.

    `best` and `own`: the best setting on the proxy and on the application, in words. `loss`: the application's time at
    `best` divided by its time at `own`, minus 1. `noise`: half the width of the 95 % interval of `loss`; None if no
    setting ran repeatedly on the application.
    """
    names = ("agrees", "best", "own", "loss", "noise")
    content = {name: getattr(found, name) if found else None for name in names}
    return {"used": used, **content, "ratios": asdict(compared) if compared else None, "reason": verdict(found)}
