# SPDX-License-Identifier: Apache-2.0
"""Decision on which settings a job gets, and why. It depends only on the question, the knowledge and the policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.allowlist import VERSION as ALLOW_LIST_VERSION
from reprise.database.entities import Decision
from reprise.database.gain_subject import promise
from reprise.database.joint_component import parts_of
from reprise.matcher.decision.containers import containers_of
from reprise.matcher.decision.guards import Policy, refusal
from reprise.matcher.decision.holdout_blocks import Place
from reprise.matcher.decision.known_records import Known, Terms
from reprise.matcher.decision.one_record import Candidate, chosen, why_not
from reprise.matcher.decision.record_batch import Batch, batches
from reprise.matcher.decision.record_owner import described
from reprise.matcher.decision.refusal import BY_THE_SITE, NO_RECORD, NONE_SIMILAR, Refusal
from reprise.matcher.decision.user_choices import chosen_names, hides_names
from reprise.matcher.linkage.engine import Asked, Engine
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.linkage.linkage_result import Linkage, Match
from reprise.matcher.linkage.prepared_record import Prepared
from reprise.matcher.submission import JobFacts, Submission, named_clusters, parse
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.stored_metadata import stored
from reprise.matcher.wire.protocol import REASON_LIMIT, shortened

NEAREST = 5  # maximum number of nearest records that a decision reports


@dataclass(frozen=True)
class Question:
    """Request for a decision about a job, made by `user` at the time `at` (Unix seconds).

    `point` is "submit" or "start". `mode` is the user's mode ("on", "observe", "explain"). `facts` is Slurm's
    information about the job, None before the job starts. `metadata` is set if accounting or the program's file
    provides more metadata than the submission. `allow_list` is the version of the list of variables that the job's
    plugin may set.
    """

    submission: Submission
    user: str
    uid: int
    point: str
    mode: str
    at: float
    facts: JobFacts | None = None
    metadata: JobMetadata | None = None
    allow_list: int = ALLOW_LIST_VERSION


class Knowledge:
    """The tuned records and the linkage model, on which decisions are based.

    Records may change while other threads make decisions; each decision uses the records of one point in time.
    """

    def __init__(
        self, records: Iterable[tuple[int, Known | None]], model: Model, *, cluster_nodes: int, timezone: str = ""
    ) -> None:
        """Load `records`, which are pairs (id, record), as for `change`."""
        self.cluster_wide: Sequence[Known] = ()
        self.alike: dict[Hashable, Known] = {}  # one record for each distinct value of `terms`
        self.engine = Engine(model, cluster_nodes=cluster_nodes, timezone=timezone)
        self.change(records)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.engine) + len(self.cluster_wide)

    def change(self, records: Iterable[tuple[int, Known | None]] = (), removed: Iterable[int] = ()) -> None:
        """Add or replace records, given as (id, record); delete a record given as None, or whose id is in `removed`.

        Only one thread at a time may call this method.
        """
        self.take(batches(records, self.engine.prepare), removed)

    def take(self, batches: Iterable[Batch], removed: Iterable[int] = ()) -> None:
        """Change the records as `change` does, but add batches of records that `engine.prepare` has prepared."""
        gone = list(removed)
        cluster_wide = {record.id: record for record in self.cluster_wide}

        def linkable() -> Iterator[Prepared]:
            for batch in batches:
                gone.extend(batch.left_out)
                cluster_wide.update({record.id: record for record in batch.cluster_wide})
                for record in batch.alike:
                    self.alike.setdefault(record.terms, record)  # added before a decision can find the record
                yield batch.linkable

        self.engine.take(linkable(), gone)
        for number in gone:
            cluster_wide.pop(number, None)
        self.cluster_wide = sorted(cluster_wide.values(), key=lambda r: (-r.created_at, -r.gain, r.id))


OUT_OF_SIGHT = Refusal("may conflict with variables that --export-file sets, which are unknown", until_start=True)


@dataclass(frozen=True)
class Decided:
    """Decision for the waiting client, without `fields` and `alternatives`; `explained` returns the full decision.

    The argument of `explained` is the time that the decision took, in milliseconds. `used` is the record that the
    settings come from. `score` is the score that the user may see; it is set only if the record was tuned for a job of
    the same user.
    """

    decision: Decision
    explained: Callable[[float], Decision]
    used: Known | None = None
    score: float | None = None

    def placed(self, place: Place, record: Known) -> Decided:
        """Return the decision for a job with a place in a hold-out block; a job that is held out gets no settings."""
        changes: dict[str, Any] = {
            "block": place.block,
            "block_size": place.size,
            "compared_id": record.id,
            "held_out": place.held_out,
        }
        if place.held_out:
            changes["injected"] = {}
            changes["verdict"] = "holdout"
            changes["reason"] = f"held out to measure the gain of other jobs; would get {self.decision.reason}"
        return Decided(
            dataclasses.replace(self.decision, **changes),
            lambda elapsed_ms: dataclasses.replace(self.explained(elapsed_ms), **changes),
            self.used,
            self.score,
        )


def understood(question: Question) -> JobMetadata:
    """Return the metadata of a question's job."""
    if question.metadata is not None:
        return question.metadata
    return parse(question.submission, user=question.user, submit_time=question.at, facts=question.facts)


def decide(question: Question, knowledge: Knowledge, policy: Policy, decision_id: str) -> Decision:
    """Return the full decision on a question; its `elapsed_ms` is 0."""
    return answered(question, knowledge, policy, decision_id).explained(0.0)


def answered(question: Question, knowledge: Knowledge, policy: Policy, decision_id: str) -> Decided:
    """Decide as `decide` does, in a tenth of the time; details that the client does not need come from `explained`."""
    job = masked(understood(question))
    model = knowledge.engine.model
    asked = knowledge.engine.ask(job)
    nearest, similar = asked.nearest_and_similar(NEAREST)
    looked_at: list[Candidate] = []
    used: Candidate | None = None
    started_on = question.facts.cluster if question.facts else None
    clusters = started_on or named_clusters(question.submission)
    if policy.mode == "off":
        verdict, reason = "none", f"{BY_THE_SITE}has turned the matcher off"
    elif denied := policy.access.refusal(job, question.uid, started=question.point == "start"):
        verdict = "defer" if denied.until_start and _asks_again(question) else "none"
        reason = f"{BY_THE_SITE}{denied.why}"
    elif (missing := _not_visible_yet(question, clusters)) is not None:
        verdict, reason = "defer", missing
    else:
        check = _checker(question, job, dataclasses.replace(policy, cluster=clusters or policy.cluster))
        looked_at = _candidates(knowledge, check, nearest, asked, similar, question.user)
        used = chosen(looked_at, model.threshold)
        verdict, reason = _verdict(question, policy, used, looked_at, model.threshold)
    best = used.match if used and used.match else nearest.best
    given = used if verdict in ("apply", "observe") else None
    decision = Decision(
        id=decision_id,
        at=question.at,
        point=question.point,
        cluster=started_on or policy.cluster,
        uid=question.uid,
        user=question.user,
        mode=question.mode,
        verdict=verdict,
        reason=shortened(reason, REASON_LIMIT),
        model=model.label,
        threshold=model.threshold,
        metadata=stored(job),
        score=best.score if best else None,
        record_id=given.record.id if given else None,
        injected=given.record.environment if given else {},
        job_id=question.facts.id if question.facts else None,
        array_task=question.facts.array_task if question.facts else None,
    )

    waterfall = asked.waterfall(best) if best else None

    def explained(elapsed_ms: float) -> Decision:
        told = waterfall.explained() if waterfall else None
        return dataclasses.replace(
            decision,
            fields=[field.to_json() for field in told.fields] if told else (),
            alternatives=_alternatives(looked_at, used, model.threshold, told),
            elapsed_ms=elapsed_ms,
        )

    told = given.score if given and given.own else None
    return Decided(decision, explained, given.record if given else None, told)


def _not_visible_yet(question: Question, clusters: str) -> str | None:
    """Return the reason why the decision must wait until the job starts; None if it need not wait.

    At submission, the matcher cannot see a script that is read from standard input, or which of several clusters Slurm
    will choose.
    """
    submission = question.submission
    if not _asks_again(question):
        return None
    if clusters == "all" or "," in clusters:
        return f"Slurm has not chosen a cluster yet ({clusters}): the decision is made when the job starts"
    if submission.script is not None:
        return None
    if any(word.startswith("--wr") for word in submission.argv):  # --wrap may be abbreviated to --wr
        return None
    return "the script is unknown at submission (standard input?): the decision is made when the job starts"


def _asks_again(question: Question) -> bool:
    """Return whether the matcher will get a second request when the job starts, which only batch jobs send."""
    return question.point == "submit" and question.submission.command == "sbatch"


Check = Callable[[Known], Refusal | None]


def _checker(question: Question, job: JobMetadata, policy: Policy) -> Check:
    """Return a function that returns why a record cannot be used for the job; None if the record can be used."""
    set_names = chosen_names(question.submission)
    containers = containers_of(question.submission)

    asks_again = _asks_again(question)
    out_of_sight = OUT_OF_SIGHT if asks_again and hides_names(question.submission) else None

    by_terms: dict[Terms, Refusal | None] = {}

    def check(record: Known) -> Refusal | None:
        if record.terms not in by_terms:
            found = refusal(record, job, question.uid, set_names, policy, question.allow_list, containers)
            if asks_again:
                found = found or out_of_sight
            elif found:
                found = Refusal(found.why)
            if not record.terms.gains:  # not cached, because the refusal contains this record's gain
                return found
            by_terms[record.terms] = found
        return by_terms[record.terms]

    return check


def _candidates(
    knowledge: Knowledge, check: Check, nearest: Linkage, asked: Asked, similar: Iterable[Hashable], user: str
) -> list[Candidate]:
    """Return the records to consider for a job, with their scores and refusals.

    The nearest records come first, ordered by score. If none of the nearest records of a component can be used, the
    best usable records of that component follow. Records for the whole cluster come last.
    """

    def candidate(match: Match) -> Candidate:
        record = Known.of(match.record)
        own = record.user == user
        likeness, preferred = match.score, True
        if not own and match.score >= nearest.threshold:
            likeness, preferred = asked.coarse(match)
        return Candidate(record, match.score, check(record), match, likeness, own, preferred)

    looked_at = list(map(candidate, nearest.matches))
    if nearest.matches and nearest.matches[-1].score >= nearest.threshold:  # more records may reach the threshold
        serving = {c.record.component for c in looked_at if c.may_serve and c.likeness >= nearest.threshold}
        more: dict[str, set[Hashable]] = {}
        for label in similar:
            record = knowledge.alike[label]
            if record.component not in serving:
                found = check(record)
                if found is None or found.until_start:
                    more.setdefault(record.component, set()).add(label)
        known = {c.record.id for c in looked_at}
        found_more = [match for labels in more.values() for match in asked.nearest_similar(labels, NEAREST).matches]
        found_more.sort(key=lambda match: (-match.score, match.record.id))
        looked_at += [candidate(match) for match in found_more if match.record.id not in known]
    return looked_at + [Candidate(record, None, check(record)) for record in knowledge.cluster_wide]


def _verdict(
    question: Question, policy: Policy, used: Candidate | None, looked_at: Sequence[Candidate], threshold: float
) -> tuple[str, str]:
    if used is None:
        return "none", _why_nothing(looked_at, threshold)
    if used.refusal:
        return "defer", f"{_waiting(used)} before the job starts"
    record = used.record
    count = len(record.names)
    what = (
        f"{_named(used)}: {count} variable{'s' * (count != 1)} of {', '.join(parts_of(record.component))}, "
        f"{'predicted, and then ' if record.terms.context.predicted else ''}"
        f"{promise(record.gain, record.gain_low, record.subject)}"
    )
    if policy.mode == "observe":
        return "observe", f"the site only observes; the job would get {what}"
    if question.mode == "observe":
        return "observe", f"the user only observes; the job would get {what}"
    return "apply", what


def _why_nothing(looked_at: Sequence[Candidate], threshold: float) -> str:
    if not looked_at:
        return NO_RECORD
    alike = [one for one in looked_at if one.likeness >= threshold]
    if not alike:
        return NONE_SIMILAR
    best = min(alike, key=lambda one: one.order)
    if _is_others(best):
        return f"{_named(best)} matches, but its settings are not for a job like this one"
    return f"{_named(best)} {best.refusal.why if best.refusal else ''}"


def _waiting(candidate: Candidate) -> str:
    """Return the reason why the decision is deferred, without details of another user's record."""
    if _is_others(candidate) or not candidate.refusal:
        return f"{_named(candidate)} matches, but whether its settings fit is unknown"
    return f"{_named(candidate)} {candidate.refusal.why}"


def _is_others(candidate: Candidate) -> bool:
    """Return whether the record was tuned for a job of another user, whose details must not be revealed."""
    return candidate.score is not None and not candidate.own


def _named(candidate: Candidate) -> str:
    """Return how a reason names a record, such as `record 12 (alice's lattice)`; other users' jobs are not named."""
    record = candidate.record
    if candidate.score is None:
        return f"record {record.id} (for the whole cluster)"
    whose = described(record) if candidate.own else "another user's job"
    return f"record {record.id} ({whose})"


def _alternatives(
    looked_at: Sequence[Candidate], used: Candidate | None, threshold: float, told: Match | None
) -> list[dict[str, Any]]:
    """Return a row for each record that was considered, with the reason (`why`) if the record is not used.

    `user` is the owner of the job that the record was tuned for. `refusal` is the reason why the record cannot be used
    for the job, whatever its score. `explained` is True if the decision's `fields` describe this record.
    """
    return [
        {
            "record": candidate.record.id,
            "component": candidate.record.component,
            "scope": str(candidate.record.scope),
            "user": candidate.record.user if candidate.score is not None else "",
            "job": described(candidate.record) if candidate.score is not None else "",
            "score": candidate.score,
            "used": candidate is used and candidate.refusal is None,
            "why": why_not(candidate, used, threshold),
            "refusal": candidate.refusal.why if candidate.refusal else "",
            "explained": told is not None and candidate.record.id == told.record.id,
        }
        for candidate in looked_at
    ]
