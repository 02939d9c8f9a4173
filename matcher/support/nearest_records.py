# SPDX-License-Identifier: Apache-2.0
"""The records nearest to a job, with their scores and the fields that raise or lower each score most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reprise.database.entities import Json
from reprise.matcher.decision.record_owner import described

if TYPE_CHECKING:
    from reprise.matcher.decision.decide import Knowledge
    from reprise.matcher.decision.guards import Policy
    from reprise.matcher.decision.known_records import Known
    from reprise.matcher.submission.metadata import JobMetadata

JSON_VERSION = 1
DIFFERENCES = 3  # maximum number of fields that `most_added` returns, and that `most_lost` returns
TOLERANCE = 1e-9  # smaller differences are rounding errors


@dataclass(frozen=True)
class Near:
    """A record, its score, and the fields whose contributions make up the score (as in a decision).

    `refusal` is the reason why the record would not be used, whatever its score; "" if there is none. This reason does
    not consider which variables the job's user sets.
    """

    record: Known
    score: float
    refusal: str
    fields: Sequence[Json]


@dataclass(frozen=True)
class Top:
    """The records nearest to `job` according to `model`, best first; scores of at least `threshold` are matches.

    Matches that have the same values as the job in the fields `prefer` come first.
    """

    job: JobMetadata
    model: str
    threshold: float
    prefer: Sequence[str]
    nearest: Sequence[Near]

    def to_json(self) -> dict[str, Any]:
        """Return the records as a JSON-ready dictionary for programs. Within a version, keys are only added."""
        return {
            "version": JSON_VERSION,
            "model": self.model,
            "threshold": self.threshold,
            "prefer": list(self.prefer),
            "metadata": self.job.to_json(),
            "nearest": [_near_json(near, self.threshold) for near in self.nearest],
        }


def top(job: JobMetadata, knowledge: Knowledge, policy: Policy, count: int) -> Top:
    """Return the `count` records nearest to `job`. The caller must have masked the job's secrets."""
    from reprise.matcher.decision.guards import refusal
    from reprise.matcher.decision.known_records import Known

    model = knowledge.engine.model
    near = []
    for match in knowledge.engine.link(job, count).matches:
        record = Known.of(match.record)
        found = refusal(record, job, None, (), policy)
        fields = [field.to_json() for field in match.fields]
        near.append(Near(record, match.score, found.why if found else "", fields))
    return Top(job, model.label, model.threshold, model.prefer, near)


def most_added(fields: Sequence[Json]) -> list[tuple[str, float]]:
    """Return the fields that add most to the score, with their contributions."""
    return _first((field["name"], field["contribution"]) for field in fields if field["parts"])


def most_lost(fields: Sequence[Json]) -> list[tuple[str, float]]:
    """Return the fields whose contributions fall most short of their maximum, with the missing amounts."""
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
