# SPDX-License-Identifier: Apache-2.0
"""Analyze a campaign's trials: the state of each problem, effects of parameters, noise, drift and cost.

All results can be written as JSON. Points in time are in hours since the start of the campaign.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from reprise.database.entities import Json, Trial, TrialRole, TrialState
from reprise.tuner.model.statistics import measurement, paired_gain
from reprise.tuner.model.trial_rows import FINAL, Rows, measured, node_seconds

Point = tuple[tuple[str, Any], ...]

ROLES = [str(role) for role in TrialRole]
BEST_POINTS = 5  # maximum number of best points to list
MESSAGES = 5  # maximum number of different failure messages to list


def point_of(parametrization: Mapping[str, Any]) -> Point:
    """Return a key that identifies a point, made of its parameters' names and values, sorted by name."""
    return tuple(sorted(parametrization.items()))


def standing(problem: str, rows: Sequence[Trial], *, over: bool) -> dict[str, Any]:
    """Return the state of a problem, computed from its trials.

    `over`: the campaign has already started the next problem. The keys are those that a problem has in the summary of a
    complete campaign. `default` is None until a run of the default has a value.
    """
    known = Rows(rows)
    defaults = [row for row in known.of(TrialRole.DEFAULT) if row.value is not None]
    compared = _comparison(known)
    return {
        "problem": problem,
        "phase": _phase(known, over),
        "trials": len(known.ended),
        "failed": sum(row.value is None for row in known.ended),
        "pruned": sum(row.state is TrialState.PRUNED for row in known.ended),
        "stopped": "",
        "note": "",
        "default": _measurement([row.value or 0.0 for row in defaults], defaults[0].unit) if defaults else None,
        "comparison": compared,
    }


def best_point(rows: Sequence[Trial]) -> dict[str, Any] | None:
    """Return the searched point with the lowest mean, or None if no searched point has a value.

    The keys are `point`, `mean`, `n` (number of runs), `unit` and `gain`. The gain is relative to the default's mean,
    or None if the default has no value.
    """
    known = Rows(rows)
    means = _means(measured(known.of(TrialRole.SEARCH)))
    defaults = [row.value for row in known.of(TrialRole.DEFAULT) if row.value is not None]
    if not means:
        return None
    key = min(means, key=lambda one: statistics.fmean(means[one]))
    mean = statistics.fmean(means[key])
    gain = 1 - mean / statistics.fmean(defaults) if defaults and statistics.fmean(defaults) else None
    return {"point": dict(key), "mean": mean, "n": len(means[key]), "unit": _unit(rows), "gain": gain}


def details(rows: Sequence[Trial], begun: float, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the analysis of one problem's trials.

    `kinds`: the kind of axis of each parameter, "linear", "log" or "category".
    """
    known = Rows(rows)
    searched = known.of(TrialRole.SEARCH)
    return {
        "unit": _unit(rows),
        "trajectory": _trajectory(known.ended),
        "best_so_far": _best_so_far(searched),
        "effects": _effects(measured(searched), kinds),
        "best_points": _best_points(measured(searched), _winner(known)),
        "failures": _failures(known.ended),
        "repeated": _repeated(known.ended),
        "drift": _drift(known, begun),
    }


def pooled_variation(repeated: Iterable[Json]) -> float | None:
    """Return the pooled coefficient of variation of repeated points; None if no point is repeated.

    It is the root mean square of the points' coefficients, weighted by degrees of freedom.
    """
    terms = [(one["n"] - 1, one["variation"]) for one in repeated]
    freedom = sum(weight for weight, _ in terms)
    return math.sqrt(sum(weight * value**2 for weight, value in terms) / freedom) if freedom else None


def cost(rows: Sequence[Trial], max_trial_s: float) -> dict[str, Any]:
    """Return node-hours and numbers of trials by role and state, and the node-hours saved by pruning."""
    cells: dict[tuple[str, str], list[Trial]] = {}
    for row in rows:
        cells.setdefault((str(row.role), str(row.state)), []).append(row)
    by = [
        {"role": role, "state": state, "trials": len(of), "node_hours": node_seconds(of) / 3600}
        for (role, state), of in sorted(cells.items(), key=lambda cell: (ROLES.index(cell[0][0]), cell[0][1]))
    ]
    starts = [row.started_at for row in rows if row.started_at is not None]
    ends = [row.ended_at for row in rows if row.ended_at is not None]
    return {
        "by": by,
        "node_hours": node_seconds(rows) / 3600,
        "wall_hours": max(0.0, max(ends) - min(starts)) / 3600 if starts and ends else 0.0,
        "pruning": _pruning(rows, max_trial_s),
    }


def _phase(known: Rows, over: bool) -> str:
    if over:
        return "done"
    if not known.rows:
        return "waiting"
    if known.final:
        return "comparison"
    return "search" if any(row.role is TrialRole.SEARCH for row in known.rows) else "default"


def _comparison(known: Rows) -> dict[str, Any] | None:
    """Return the result of the final comparison with the default; None without a result.

    The runs of the default and of the tuned point are paired in their order. Pairs whose default run failed are left
    out; if only the tuned run of a pair failed, the point has no result. If several points were compared, the result is
    that of the last point that has one.
    """
    both = zip(known.of(TrialRole.FINAL_DEFAULT), known.of(TrialRole.FINAL_TUNED), strict=False)
    points = [(point, list(of)) for point, of in groupby(both, lambda pair: pair[1].parametrization)]
    return next((found for point, of in reversed(points) if (found := _compared(point, of))), None)


def _compared(point: Mapping[str, Any], both: Sequence[tuple[Trial, Trial]]) -> dict[str, Any] | None:
    pairs = [(a.value, b.value) for a, b in both if a.value is not None and b.value is not None]
    failed = any(a.value is not None and b.value is None for a, b in both)
    if failed or len(pairs) < 2 or min(min(pair) for pair in pairs) <= 0:
        return None
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    gain, low, high = paired_gain(first, second)
    unit = both[0][1].unit
    return {
        "winner": dict(point),
        "default": _measurement(first, unit),
        "tuned": _measurement(second, unit),
        "gain": gain,
        "gain_low": low,
        "gain_high": high,
    }


def _measurement(values: Sequence[float], unit: str) -> dict[str, Any]:
    return dataclasses.asdict(measurement(values, unit))


def _unit(rows: Sequence[Trial]) -> str:
    return next((row.unit for row in rows if row.state is TrialState.COMPLETE), "s")


def _means(rows: Sequence[Trial]) -> dict[Point, list[float]]:
    """Return the measured values of each point, with the points in the order of their first measured values."""
    values: dict[Point, list[float]] = {}
    for row in rows:
        if row.value is not None:
            values.setdefault(point_of(row.parametrization), []).append(row.value)
    return values


def _trajectory(ended: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the trials that ended without being interrupted, in the order in which they ended.

    `bound`: the value is a lower bound, because the trial was pruned. `run`: number of the trial among the trials of
    its point, starting at 1.
    """
    runs: Counter[Point] = Counter()
    found = []
    for row in ended:
        runs[point_of(row.parametrization)] += 1
        found.append(
            {
                "number": row.number,
                "role": str(row.role),
                "state": str(row.state),
                "value": row.value,
                "bound": row.state is TrialState.PRUNED,
                "run": runs[point_of(row.parametrization)],
            }
        )
    return found


def _best_so_far(searched: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return, for each improvement in the search, the number of evaluations so far, the lowest value and its point."""
    found: list[dict[str, Any]] = []
    for count, row in enumerate(searched, 1):
        better = row.value is not None and (not found or row.value < found[-1]["value"])
        if row.state is TrialState.COMPLETE and better:
            found.append({"evaluations": count, "value": row.value, "point": dict(row.parametrization)})
    return found


def _effects(searched: Sequence[Trial], kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return, for each parameter with several tried values, the spread of results at each of these values.

    A point that was measured repeatedly counts once, with its mean.
    """
    points = {key: statistics.fmean(values) for key, values in _means(searched).items()}
    names = list(dict.fromkeys(name for row in searched for name in row.parametrization))
    found = []
    for name in names:
        groups: dict[Any, list[float]] = {}
        for key, value in points.items():
            if name in dict(key):
                groups.setdefault(dict(key)[name], []).append(value)
        if len(groups) > 1:
            kind = kinds.get(name) or ("linear" if all(map(_is_number, groups)) else "category")
            ordered = sorted(groups, key=float) if all(map(_is_number, groups)) else sorted(groups, key=str)
            found.append({"name": name, "kind": kind, "values": [_spread(value, groups[value]) for value in ordered]})
    return found


def _spread(value: Any, values: Sequence[float]) -> dict[str, Any]:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"value": value, "points": len(values), "median": middle, "low": low, "high": high, "best": min(values)}


def _winner(known: Rows) -> Mapping[str, Any] | None:
    """Return the winner of the final comparison; while it has no result, the point of its first pair."""
    compared, tuned = _comparison(known), known.of(TrialRole.FINAL_TUNED)
    return compared["winner"] if compared else tuned[0].parametrization if tuned else None


def _best_points(searched: Sequence[Trial], winner: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the points with the lowest means in the search; the winner is always included."""
    won = {point_of(winner)} if winner else set()
    means = {key: (statistics.fmean(values), len(values)) for key, values in _means(searched).items()}
    ordered = sorted(means, key=lambda key: means[key])
    shown = [key for place, key in enumerate(ordered) if place < BEST_POINTS or key in won]
    return [{"point": dict(key), "mean": means[key][0], "n": means[key][1], "won": key in won} for key in shown]


def _failures(ended: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the messages of trials without a value, most frequent first; `number` is the first trial affected."""
    failed = [row for row in ended if row.value is None]
    counts = Counter((str(row.state), row.message) for row in failed)
    example = {(str(row.state), row.message): row for row in reversed(failed)}
    return [
        {"state": key[0], "message": key[1], "trials": count, "number": example[key].number}
        for key, count in counts.most_common(MESSAGES)
    ]


def _repeated(ended: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the points that were measured several times, each with its coefficient of variation.

    The coefficient is the sample standard deviation (divisor n - 1) divided by the mean.
    """
    return [
        {
            "point": dict(key),
            "n": len(values),
            "variation": statistics.stdev(values) / statistics.fmean(values),
            "values": values,
        }
        for key, values in _means(measured(ended)).items()
        if len(values) > 1 and statistics.fmean(values) > 0
    ]


def _drift(known: Rows, begun: float) -> dict[str, Any] | None:
    """Return how the default's values changed from its runs before the search to its runs in the final comparison.

    Return None if either phase has fewer than two runs.
    """
    rows = [row for role in (TrialRole.DEFAULT, TrialRole.FINAL_DEFAULT) for row in measured(known.of(role))]
    before = [row.value or 0.0 for row in rows if row.role not in FINAL]
    after = [row.value or 0.0 for row in rows if row.role in FINAL]
    if len(before) < 2 or len(after) < 2 or statistics.fmean(before) <= 0:
        return None
    first, second = measurement(before, rows[0].unit), measurement(after, rows[0].unit)
    return {
        "runs": [{"hours": ((row.ended_at or begun) - begun) / 3600, "value": row.value} for row in rows],
        "before": dataclasses.asdict(first),
        "after": dataclasses.asdict(second),
        "change": second.mean / first.mean - 1,
        "within_noise": first.low <= second.high and second.low <= first.high,
    }


def _pruning(rows: Sequence[Trial], max_trial_s: float) -> dict[str, Any] | None:
    """Return the node-hours that pruning saved; None if no trial was pruned.

    `most` assumes that each pruned trial would have run until the time limit for trials. `estimate` assumes that each
    pruned trial would have taken the mean time of those complete trials of its problem that took longer than the pruned
    trial ran. `estimate` is None if a pruned trial's problem has no such complete trials.
    """
    pruned = [row for row in rows if row.state is TrialState.PRUNED]
    if not pruned:
        return None
    times: dict[str, list[float]] = {}
    for row in rows:
        if row.state is TrialState.COMPLETE and row.elapsed_s:
            times.setdefault(row.problem, []).append(row.elapsed_s)
    most, estimate, estimated = 0.0, 0.0, 0
    for row in pruned:
        stopped = row.elapsed_s or row.limit_s or 0.0
        most += max(0.0, max_trial_s - stopped) * row.nodes / 3600
        if longer := [time for time in times.get(row.problem, ()) if time > stopped]:
            estimate += (statistics.fmean(longer) - stopped) * row.nodes / 3600
            estimated += 1
    return {
        "trials": len(pruned),
        "node_hours": node_seconds(pruned) / 3600,
        "most": most,
        "estimate": estimate if estimated == len(pruned) else None,
    }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
