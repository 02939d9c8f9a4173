# SPDX-License-Identifier: Apache-2.0
"""Comparison of a job's profile with the profile of the record that the job matched.

A user who could compare any number of invented profiles with another user's record would learn the record's whole
profile. Therefore, about another user's record, users get only a yes or no, once for each of their jobs, and only after
Slurm itself has reported the job's end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reprise.database.entities import Decision, Outcome, Record, Scope
from reprise.database.for_support import SupportDatabase
from reprise.matcher.benefit.profile_distance import Profiled, Shares, behaves_otherwise
from reprise.matcher.errors import ProtocolError
from reprise.matcher.support.hidden_words import hide
from reprise.matcher.support.job_story import Story

MATCHED = ("apply", "holdout", "observe")
"""Verdicts of decisions on jobs that matched a record, whether or not the record's settings were applied."""


class Behaviour(StrEnum):
    """Verdict on whether a job behaves like its record, or the reason why there is no verdict."""

    ALIKE = "alike"
    OTHERWISE = "otherwise"
    NO_RECORD = "no-record"  # the job matched no record
    NO_APPLICATION = "no-application"  # the record is for the whole cluster
    NO_PROFILE = "no-profile"  # the record has no profile
    NOT_ENDED = "not-ended"  # the record is another user's, and Slurm has not reported the job's end yet


@dataclass(frozen=True)
class Comparison:
    """Result of comparing a job with its record.

    `words` describes in one line how the job differs from the record; it is empty if they do not differ or the
    difference is hidden. `hidden` is True if the record is another user's, so that the reader may see only the verdict.
    `decision` is the id of the decision in which the job matched the record.
    """

    verdict: Behaviour
    decision: str = ""
    record: int | None = None
    component: str = ""
    words: str = ""
    hidden: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Comparison:
        """Read the output of `to_json`, ignoring keys of newer releases. Raises ProtocolError."""
        try:
            names = [field.name for field in dataclasses.fields(cls) if field.name != "verdict"]
            return cls(Behaviour(data["verdict"]), **{name: data[name] for name in names})
        except (KeyError, ValueError) as error:
            raise ProtocolError(
                f"cannot read a comparison made by another release ({error}): install the daemon's release"
            ) from error


def compare(database: SupportDatabase, story: Story, job: Profiled, uid: int | None) -> Comparison:
    """Compare a job with the record that its newest matching decision found.

    `database` has the record's profile. `story` has the job's decisions and reports, without those of other users.
    `job` is the job's profile. `uid` is the user who reads the result, None for staff, who may see everything.
    """
    decision = next((one.decision for one in story.decisions if _matched(one.decision)), None)
    record = story.records.get(decision.record_id or 0) if decision else None
    if not decision or not record:
        return Comparison(Behaviour.NO_RECORD)
    found = Comparison(Behaviour.NO_APPLICATION, decision.id, record.id, record.component)
    if record.scope is Scope.CLUSTER:
        return found
    hidden = uid is not None and record.id in hide(story, uid).hidden
    if hidden and not _has_ended(decision, story):
        return dataclasses.replace(found, verdict=Behaviour.NOT_ENDED, hidden=True)
    return _compared(database, record, job, dataclasses.replace(found, hidden=hidden))


def text(comparison: Comparison) -> str:
    """Return the comparison as one sentence."""
    record = f"record {comparison.record} ({comparison.component})"
    whose = f"{record}, which is another user's" if comparison.hidden else record
    otherwise = comparison.words or f"this job behaves differently from {whose}"
    return {
        Behaviour.ALIKE: f"this job behaves like {whose}",
        Behaviour.OTHERWISE: f"{otherwise}: {record} was a wrong match, whatever its score",
        Behaviour.NO_RECORD: "this job matched no record, so there is nothing to compare it with",
        Behaviour.NO_APPLICATION: f"{record} is for all jobs of the cluster: it has no application to compare with",
        Behaviour.NO_PROFILE: f"{whose} has no profile to compare this job with (`reprise tune profile --record`)",
        Behaviour.NOT_ENDED: f"{whose}: the comparison is available once Slurm has reported the end of the job",
    }[comparison.verdict]


def _matched(decision: Decision) -> bool:
    return decision.record_id is not None and decision.verdict in MATCHED


def _has_ended(decision: Decision, story: Story) -> bool:
    def ended(outcome: Outcome) -> bool:
        return outcome.decision_id == decision.id and outcome.ended_at is not None and outcome.confirmed

    return any(map(ended, story.outcomes))


def _compared(database: SupportDatabase, record: Record, job: Profiled, found: Comparison) -> Comparison:
    profile = database.profile(record.id)
    if not profile:
        return dataclasses.replace(found, verdict=Behaviour.NO_PROFILE)
    words = behaves_otherwise(job, Shares(profile.document["shares"], profile.document["waiting"]))
    verdict = Behaviour.OTHERWISE if words else Behaviour.ALIKE
    return dataclasses.replace(found, verdict=verdict, words="" if found.hidden else words)
