# SPDX-License-Identifier: Apache-2.0
"""Tables of the scenario's results, including the tables of Robert 2021, section 7.4.2."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reprise.tuner.model.statistics import paired_gain

SCORE_STEPS = 5
"""Number of groups of about equal size into which `by_score` divides jobs."""


@dataclass(frozen=True)
class Match:
    """The result of matching: the best record's score, application and nodes, and whether its settings were applied."""

    score: float
    application: str
    nodes: int
    applied: bool


@dataclass(frozen=True)
class Result:
    """The result of a job of the scenario.

    `defaults` and `given` are run times in seconds, in pairs. `oracle` is the gain of the best setting over the
    default, for the job's application on its number of nodes. `records` is the number of records of the application;
    `own` says whether one of them is the job's own. `without_own` is the match without the job's own record, or the
    actual match if the job has no record.
    """

    user: str
    application: str
    nodes: int
    records: int
    own: bool
    match: Match | None
    without_own: Match | None
    defaults: tuple[float, ...]
    given: tuple[float, ...]
    oracle: float

    @property
    def gain(self) -> float:
        """The gain (1 - given/default), from the geometric mean of the pairs' ratios."""
        ratios = [math.log(b / a) for a, b in zip(self.defaults, self.given, strict=True)]
        return 1 - math.exp(statistics.fmean(ratios))

    @property
    def is_slowed(self) -> bool:
        """Whether the job is slower, beyond noise, with the settings that it got."""
        return is_slowed(self.defaults, self.given)

    @property
    def score(self) -> float:
        """The score of the match, or 0 without a match."""
        return self.match.score if self.match else 0.0

    def is_right_application(self, match: Match | None) -> bool:
        """Return whether a match was applied and its record belongs to the job's application."""
        return match is not None and match.applied and match.application == self.application

    def is_right_nodes(self, match: Match | None) -> bool:
        """Return whether a match was applied and its record has the job's number of nodes."""
        return match is not None and match.applied and match.nodes == self.nodes


def is_slowed(defaults: Sequence[float], given: Sequence[float]) -> bool:
    """Return whether a job is slower beyond noise, i.e. whether the upper 95 % bound of its gain is below 0."""
    return len(defaults) > 1 and paired_gain(defaults, given)[2] < 0


def gains(results: Iterable[Result]) -> dict[str, float | int | None]:
    """Return the number of these jobs, their median and mean gain, and the median and mean score of matched jobs."""
    chosen = list(results)
    scores = [one.score for one in chosen if one.match and one.match.applied]
    return {
        "jobs": len(chosen),
        "gain_median": _round(statistics.median, [one.gain for one in chosen]),
        "gain_mean": _round(statistics.fmean, [one.gain for one in chosen]),
        "oracle_gain_median": _round(statistics.median, [one.oracle for one in chosen]),
        "oracle_gain_mean": _round(statistics.fmean, [one.oracle for one in chosen]),
        "score_median": _round(statistics.median, scores),
        "score_mean": _round(statistics.fmean, scores),
    }


def by_quality(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the table by quality of the match: the four rows of Robert 2021, and a row for jobs without settings.

    The four rows are the combinations of a right or wrong application with a right or wrong number of nodes.
    """
    rows = []
    for application in (False, True):
        for nodes in (False, True):
            chosen = [
                one
                for one in results
                if one.match
                and one.match.applied
                and one.is_right_application(one.match) == application
                and one.is_right_nodes(one.match) == nodes
            ]
            rows.append({"application": application, "nodes": nodes, **gains(chosen)})
    nothing = [one for one in results if not (one.match and one.match.applied)]
    return [*rows, {"application": None, "nodes": None, **gains(nothing)}]


def by_user(results: Sequence[Result]) -> dict[str, Any]:
    """Return the result of `gains` for each user's jobs, by user."""
    users = sorted({one.user for one in results})
    return {user: gains(one for one in results if one.user == user) for user in users}


def by_score(results: Sequence[Result], steps: int = SCORE_STEPS) -> list[dict[str, Any]]:
    """Divide the matched jobs by score into groups of about equal size, and return `gains` for each group.

    The group with the lowest scores comes first. Jobs with equal scores (to a hundredth) are in the same group.
    """
    chosen = sorted((one for one in results if one.match and one.match.applied), key=lambda one: one.score)
    steps = min(steps, len(chosen))
    changes = [n for n in range(1, len(chosen)) if round(chosen[n].score, 2) > round(chosen[n - 1].score, 2)]
    cuts = {bisect_left(changes, len(chosen) * step // steps) for step in range(1, steps)}
    bounds = [0, *(changes[cut] for cut in sorted(cuts) if cut < len(changes)), len(chosen)] if chosen else []
    groups = [chosen[low:high] for low, high in pairwise(bounds)]
    return [{"from": _4(group[0].score), "to": _4(group[-1].score), **gains(group)} for group in groups]


def rates(results: Iterable[Result], of: Callable[[Result], Match | None]) -> dict[str, float | int | None]:
    """Return the shares of jobs with the right application, the right nodes, and no match; `of` returns the match."""
    chosen = [(one, of(one)) for one in results]
    return {
        "of_jobs": len(chosen),
        "right_application": _share(one.is_right_application(match) for one, match in chosen),
        "right_nodes": _share(one.is_right_nodes(match) for one, match in chosen),
        "missed": _share(not (match and match.applied) for _, match in chosen),
    }


def summary(results: Sequence[Result], strangers: Sequence[Match | None]) -> dict[str, Any]:
    """Return the final JSON object. `strangers` contains the matches of jobs with unknown applications."""
    again = [one for one in results if not one.own]
    known = [one for one in results if one.records]
    of_all, of_known = gains(results), rates(known, lambda one: one.match)
    return {
        "gain_median": of_all["gain_median"],
        "oracle_gain_median": of_all["oracle_gain_median"],
        "slowed": sum(one.is_slowed for one in results),
        "right_application": of_known["right_application"],
        "unknown_matched": _share(match is not None and match.applied for match in strangers),
        "gain_mean": of_all["gain_mean"],
        "oracle_gain_mean": of_all["oracle_gain_mean"],
        "slower_at_all": sum(one.gain < 0 for one in results),
        "right_nodes": of_known["right_nodes"],
        "all": of_all,
        "never_tuned": gains(again) | rates((one for one in again if one.records), lambda one: one.match),
        "own_record_left_out": rates((one for one in results if one.records > one.own), lambda one: one.without_own),
        "without_a_record": gains(one for one in results if not one.records),
        "unknown_jobs": len(strangers),
        "by_quality": by_quality(results),
        "by_user": by_user(results),
        "by_score": by_score(results),
    }


def _share(hits: Iterable[bool]) -> float | None:
    counted = list(hits)
    return _4(sum(counted) / len(counted)) if counted else None


def _round(centre: Callable[[Sequence[float]], float], values: Sequence[float]) -> float | None:
    return _4(centre(values)) if values else None


def _4(value: float) -> float:
    return round(float(value), 4)
