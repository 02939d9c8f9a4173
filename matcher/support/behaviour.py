# SPDX-License-Identifier: Apache-2.0
"""Whether a job behaves as the record that it matched, by the profiles of both.

A user who could ask this of another user's record as often as they like, with profiles that they make up, would find
out all of that record's profile. So they are told yes or no, once for each of their jobs, and only after Slurm itself
has reported that job's end.
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
"""Verdicts about jobs that a record matched, whether they were given its settings or not."""


class Behaviour(StrEnum):
    """How a job compares with its record."""

    ALIKE = "alike"
    OTHERWISE = "otherwise"
    NO_RECORD = "no-record"  # it matched none
    NO_APPLICATION = "no-application"  # the record is for the whole cluster
    NO_PROFILE = "no-profile"  # the record has none
    NOT_ENDED = "not-ended"  # Slurm has not reported the job's end, and the record is another user's


@dataclass(frozen=True)
class Comparison:
    """A job beside its record. `words`: in one line how it differs; empty where it does not, or where that is hidden.

    `hidden`: the record is another user's, and the reader may know no more than the verdict. `decision`: the id of the
    one that matched the two.
    """

    verdict: Behaviour
    decision: str = ""
    record: int | None = None
    component: str = ""
    words: str = ""
    hidden: bool = False

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Comparison:
        """Read what `to_json` wrote; keys of newer releases are ignored. Raises ProtocolError."""
        try:
            names = [field.name for field in dataclasses.fields(cls) if field.name != "verdict"]
            return cls(Behaviour(data["verdict"]), **{name: data[name] for name in names})
        except (KeyError, ValueError) as error:
            raise ProtocolError(
                f"a comparison of another release cannot be read ({error}): install the release of the daemon"
            ) from error


def compare(database: SupportDatabase, story: Story, job: Profiled, uid: int | None) -> Comparison:
    """Compare a job with the record of its newest decision that matched one.

    Args:
        database: Where the record's profile is.
        story: What is known of the job, of its user's decisions alone.
        job: The job's profile.
        uid: Who reads it; None: staff, who may know everything.
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
    """The comparison in one sentence."""
    record = f"record {comparison.record} ({comparison.component})"
    whose = f"{record}, which is another user's" if comparison.hidden else record
    otherwise = comparison.words or f"this job behaves otherwise than {whose}"
    return {
        Behaviour.ALIKE: f"this job behaves as {whose}",
        Behaviour.OTHERWISE: f"{otherwise}: {record} was a wrong match, whatever its score",
        Behaviour.NO_RECORD: "this job matched no record, so there is nothing to compare it with",
        Behaviour.NO_APPLICATION: f"{record} is for all jobs of the cluster: there is nothing to compare this job with",
        Behaviour.NO_PROFILE: f"{whose} has no profile to compare this job with (`reprise tune profile --record`)",
        Behaviour.NOT_ENDED: f"{whose}: users are told how their job compares once Slurm has reported that it ended",
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
