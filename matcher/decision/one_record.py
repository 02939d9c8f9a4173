# SPDX-License-Identifier: Apache-2.0
"""Choice of one record among those that can be used for a job, and the reasons why the others are not used.

A job never gets the settings of two records, because their joint effect was not measured. Settings that were measured
together form a single record, called a combination (`database.joint_component`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.database.entities import Scope
from reprise.database.joint_component import parts_of
from reprise.matcher.decision.known_records import Known
from reprise.matcher.decision.refusal import Refusal
from reprise.matcher.decision.user_choices import conflict
from reprise.matcher.linkage.linkage_result import Match
from reprise.matcher.submission.generic_names import is_generic


@dataclass(frozen=True)
class Candidate:
    """A record that is considered for a job.

    `score` is None for a record for the whole cluster, because linkage does not find such records. `refusal` is None if
    the record can be used for the job. `likeness` is the value that is compared with the threshold. For another user's
    record, `likeness` is coarser than the score, so that answers do not reveal how similar two different words are.
    `own` is True if the record was tuned for a job of the same user. `preferred` is True if record and job have equal
    values of the features that the model prefers.
    """

    record: Known
    score: float | None
    refusal: Refusal | None
    match: Match | None = None
    likeness: float = 1.0
    own: bool = False
    preferred: bool = True

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key that puts the nearest record first.

        The user's own records come first, in the order in which they were found. Other users' records follow, ordered
        by their likeness rather than by their exact score. Records for the whole cluster come last.
        """
        if self.own or self.score is None:
            return (0 if self.own else 2,)
        return (1, not self.preferred, -self.likeness, -self.record.created_at, -self.record.gain, self.record.id)

    @property
    def may_serve(self) -> bool:
        """Whether the record can be used for the job, or possibly can be once the job starts."""
        return self.refusal is None or self.refusal.until_start


def chosen(looked_at: Sequence[Candidate], threshold: float) -> Candidate | None:
    """Return the record whose settings the job gets; None if no record can be used.

    Only records that were tuned for the same job as the nearest usable record are considered. Among these records, the
    nearest record of each component is a candidate. The candidate with the largest lower bound of its gain is chosen,
    but gains that were measured on the application take precedence over gains of a benchmark.
    """
    serving = sorted((one for one in looked_at if one.may_serve and one.likeness >= threshold), key=lambda o: o.order)
    of_components: dict[str, Candidate] = {}
    for one in serving:
        if _tuned_for(one) == _tuned_for(serving[0]):
            of_components.setdefault(one.record.component, one)
    return max(of_components.values(), key=lambda one: (not one.record.subject, one.record.gain_low), default=None)


def why_not(candidate: Candidate, given: Candidate | None, threshold: float) -> str:
    """Return the reason why a record is not used, worded to follow "not used: "; "" for the record that is used."""
    if candidate.score is not None and candidate.score < threshold:
        return f"scores below the threshold {threshold:.4f}"
    if candidate.likeness < threshold:
        return f"is another user's, and scores {candidate.likeness:.4f} if only equal and nearly equal texts count"
    if candidate.refusal:
        return candidate.refusal.why
    return "" if given is None or candidate is given else _apart(candidate, given)


def _tuned_for(candidate: Candidate) -> Hashable:
    """Return a key; records with equal keys were tuned for one job on one node count, so their gains are comparable."""
    job = candidate.record.metadata
    if job is None:
        return Scope.CLUSTER
    says_little = not job.program or is_generic(job.program)
    return job.user, job.program or job.job_name, job.nodes, job.directory if says_little else ""


def _apart(candidate: Candidate, given: Candidate) -> str:
    """Return the reason why the record `given` was preferred to another usable record."""
    one, other = candidate.record, given.record
    mine, its = parts_of(one.component), parts_of(other.component)
    if mine == its:
        return f"record {other.id} is preferred"
    if set(mine) <= set(its):
        return f"record {other.id} has settings of {one.component} too, measured together with {_rest(its, mine)}"
    if set(its) <= set(mine):
        return f"record {other.id} is preferred: it gains at least {other.gain_low:.1%}, this one {one.gain_low:.1%}"
    both = conflict((*one.terms.conflicts, *one.names), other.names) or conflict(other.terms.conflicts, one.names)
    if both:
        return f"excludes the settings of record {other.id} ({other.component}): both decide {both}"
    return f"was never measured together with record {other.id} ({other.component}), which is preferred"


def _rest(components: Sequence[str], without: Sequence[str]) -> str:
    return ", ".join(one for one in components if one not in without)
