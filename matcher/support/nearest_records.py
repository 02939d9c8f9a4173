# SPDX-License-Identifier: Apache-2.0
"""The records nearest to a job: how near each is, and which fields made the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reprise.database.entities import Json
from reprise.matcher.decision.decide import Knowledge, described
from reprise.matcher.decision.guards import Policy, refusal
from reprise.matcher.decision.known_records import Known
from reprise.matcher.submission.metadata import JobMetadata

JSON_VERSION = 1
DIFFERENCES = 3  # fields that are named on either side
TOLERANCE = 1e-9  # what is less is no difference


@dataclass(frozen=True)
class Near:
    """A record, its score, and the fields that make it up (as in a decision). `refusal`: what stands against it
    whatever its score; "" if nothing. What the job's user has set himself is not looked at."""

    record: Known
    score: float
    refusal: str
    fields: Sequence[Json]


@dataclass(frozen=True)
class Top:
    """The records nearest to `job`, best first, under `model`; from `threshold` on they match.

    Of those that match, the ones with the job's value of what is named in `prefer` come first.
    """

    job: JobMetadata
    model: str
    threshold: float
    prefer: Sequence[str]
    nearest: Sequence[Near]

    def to_json(self) -> dict[str, Any]:
        """For programs. Keys are only ever added within a version."""
        return {
            "version": JSON_VERSION,
            "model": self.model,
            "threshold": self.threshold,
            "prefer": list(self.prefer),
            "metadata": self.job.to_json(),
            "nearest": [_near_json(near, self.threshold) for near in self.nearest],
        }


def top(job: JobMetadata, knowledge: Knowledge, policy: Policy, count: int) -> Top:
    """The `count` records nearest to `job`, whose secrets are masked."""
    model = knowledge.engine.model
    near = []
    for match in knowledge.engine.link(job, count).matches:
        record = Known.of(match.record)
        found = refusal(record, job, None, (), policy)
        fields = [field.to_json() for field in match.fields]
        near.append(Near(record, match.score, found.why if found else "", fields))
    return Top(job, model.label, model.threshold, model.prefer, near)


def most_added(fields: Sequence[Json]) -> list[tuple[str, float]]:
    """The fields that add most, and what."""
    return _first((field["name"], field["contribution"]) for field in fields if field["parts"])


def most_lost(fields: Sequence[Json]) -> list[tuple[str, float]]:
    """The fields that lack most of what they could add, and what they lack."""
    return _first((field["name"], field["weight"] - field["contribution"]) for field in fields if field["parts"])


def _first(pairs: Any) -> list[tuple[str, float]]:
    return sorted((pair for pair in pairs if pair[1] > TOLERANCE), key=lambda pair: -pair[1])[:DIFFERENCES]


def _near_json(near: Near, threshold: float) -> dict[str, Any]:
    record = near.record
    return {
        "record": record.id,
        "score": near.score,
        "reaches": near.score >= threshold,
        "component": record.component,
        "user": record.user,
        "job": described(record),
        "gain": record.gain,
        "gain_low": record.gain_low,
        "gain_of": record.subject,
        "status": record.status,
        "refusal": near.refusal,
        "fields": list(near.fields),
    }
