# SPDX-License-Identifier: Apache-2.0
"""Warm start: the best points of the most similar tuned jobs are tried before the initial design.

The points are chosen once, when a campaign begins, and kept in its `spec`, so that a resumed campaign starts from these
points, too.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from reprise.config import Config
from reprise.database.entities import Json, Record, RecordStatus, Scope
from reprise.database.errors import NotFoundError
from reprise.database.for_tuner import TunerDatabase
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.submission.metadata import JobMetadata
from reprise.tuner.model.component import Component, Problem
from reprise.tuner.model.space import Parameter, Parametrization, Space, Value

SOURCES = 3  # maximum number of records that a campaign starts from
# Maximum number of records to examine, in order of similarity. It exceeds SOURCES, because a record is skipped if
# earlier records have its points already.
LOOKED_AT = 20


def find(
    database: TunerDatabase,
    component: Component,
    problems: Sequence[Problem],
    job: Json,
    score: float | None,
    config: Config,
) -> list[dict[str, Any]]:
    """Return the warm start of a campaign for `job` (JobMetadata as JSON), in the form that its `spec` stores.

    The most similar record comes first. Each entry has `record`, `score`, `model` (which computed the score) and
    `points` by problem. Only active records of the same component and version count, if they reach `score` (None: the
    threshold at which the matcher uses records).
    """
    from reprise.matcher.linkage.engine import Engine
    from reprise.matcher.linkage.linkage_model import load
    from reprise.matcher.linkage.linkage_result import LinkableRecord

    def linkable() -> Iterable[LinkableRecord]:
        """Return all records that the matcher links to, so that the scores equal the matcher's."""
        for text in database.record_texts():
            if text.scope == Scope.APPLICATION and text.status != RecordStatus.RETIRED:
                try:
                    metadata = JobMetadata.from_text(text.metadata)
                except ValidationError:
                    continue
                yield LinkableRecord(text.id, metadata, text.created_at, text.gain)

    records = {
        record.id: record
        for record in database.records(component=component.name)
        if record.component_version == component.version and record.scope is Scope.APPLICATION
    }
    if not records:
        return []
    model = load(config.matcher.model, config.matcher.threshold)
    engine = Engine(model, linkable(), cluster_nodes=config.site.nodes, timezone=config.site.timezone)
    linked = engine.link(masked(JobMetadata.from_json(job)), LOOKED_AT, among=records)
    least = model.threshold if score is None else score
    near = [(match.record.id, match.score) for match in linked.matches if match.score >= least]
    winners = {number: _winners(database, records[number]) for number, _ in near}
    return [{**one, "model": model.label} for one in choose(problems, near, winners)]


def choose(
    problems: Sequence[Problem], near: Sequence[tuple[int, float]], winners: Mapping[int, Mapping[str, Parametrization]]
) -> list[dict[str, Any]]:
    """Return the first records of `near` with a starting point that no earlier record has.

    `near` has the (id, score) of records, best first. `winners` maps a record's id to its winning points by
    problem. At most SOURCES records are returned.
    """
    seen: set[tuple[object, ...]] = set()
    chosen: list[dict[str, Any]] = []
    for number, score in near:
        points = {}
        for problem in problems:
            point = _mapped(problem, _of_problem(problem, problems, winners[number]))
            if point is not None and (key := (problem.key, *problem.space.key(point))) not in seen:
                seen.add(key)
                points[problem.key] = dict(point)
        if points:
            chosen.append({"record": number, "score": score, "points": points})
        if len(chosen) == SOURCES:
            break
    return chosen


def opened(problems: Sequence[Problem], spec: Json) -> list[Problem]:
    """Return the problems with the starting points from a campaign's `spec`, or unchanged if it has none."""
    sources = spec.get("warm_start", [])
    if not sources:
        return list(problems)
    return [
        dataclasses.replace(
            problem, first=[one["points"][problem.key] for one in sources if problem.key in one["points"]]
        )
        for problem in problems
    ]


def in_words(sources: Sequence[Json]) -> str:
    """Return the origin of a campaign's starting points, in one line; empty if there are none."""
    if not sources:
        return ""
    named = ", ".join(f"record {one['record']} (score {one['score']:.2f})" for one in sources)
    return f"starts from the best settings of the nearest tuned jobs: {named}"


def nearest_point(space: Space, point: Parametrization, default: Parametrization) -> Parametrization | None:
    """Return the grid point nearest to a point of another grid.

    Each number becomes the nearest value of its axis, on the scale of that axis. A parameter that `point` does not have
    is taken from `default`. Return None if a category is not on the grid.
    """
    found = {}
    for axis in space.parameters:
        value = _nearest_value(axis, point.get(axis.name, default.get(axis.name)))
        if value is None:
            return None
        found[axis.name] = value
    return space.canonical(found)


def _nearest_value(axis: Parameter, value: Value | None) -> Value | None:
    if value in axis.values:
        return axis.values[axis.values.index(value)]
    if axis.kind == "category" or not _is_number(value) or not all(map(_is_number, axis.values)):
        return None

    def place(number: Any) -> float:
        return math.log2(1 + max(0.0, float(number))) if axis.kind == "log" else float(number)

    return min(axis.values, key=lambda other: abs(place(other) - place(value)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mapped(problem: Problem, point: Parametrization | None) -> Parametrization | None:
    return None if point is None else nearest_point(problem.space, point, problem.default)


def _of_problem(
    problem: Problem, problems: Sequence[Problem], winners: Mapping[str, Parametrization]
) -> Parametrization | None:
    """Return the winner for a problem.

    If this campaign and the record's campaign each have a single problem, the names of the two problems may differ,
    because an application's problem is named after its script.
    """
    if len(problems) == len(winners) == 1:
        return next(iter(winners.values()))
    return winners.get(problem.key)


def _winners(database: TunerDatabase, record: Record) -> Mapping[str, Parametrization]:
    """Return, by problem, the points that a record's campaign found to be better than the default beyond noise."""
    if record.campaign_id is None:
        return {}
    try:
        summary = database.campaign(record.campaign_id).summary
    except NotFoundError:
        return {}
    found = {one["problem"]: one["comparison"] for one in summary.get("problems", [])}
    return {key: one["winner"] for key, one in found.items() if one and one["gain_low"] > 0}
