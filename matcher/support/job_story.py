# SPDX-License-Identifier: Apache-2.0
"""The story of a job, which consists of its decisions, its reports, and the records with which it was compared."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from reprise.database import NotFoundError
from reprise.database.entities import (
    Decision,
    ForwarderShare,
    JobPattern,
    Json,
    Measurement,
    Outcome,
    Record,
    RecordStatus,
    Scope,
)
from reprise.database.for_support import SupportDatabase
from reprise.database.gain_subject import GAIN_OF, subject
from reprise.matcher.errors import NothingKnownError, ProtocolError
from reprise.matcher.support.shortfall import Change, Shortfall, shortfall

if TYPE_CHECKING:
    from reprise.matcher.linkage.linkage_model import Model

JSON_VERSION = 1
JOB_ID = r"(\d{1,10})(?:_(\d{1,10}))?"
DECISION_ID = r"[A-Za-z0-9_-]{1,64}"
WORDS_OF_A_RECORD = ("metadata", "context", "parametrization", "environment", "conflicts", "artifact_sha256")
"""Keys of a record whose values may contain its user's words or the size of the user's job."""
MEASURED = ("default", "tuned")
"""Keys of a record whose values are run times of its user's job."""
RUNS = 5  # maximum number of a job's runs, or array's tasks, whose access patterns are shown
SHARES = 5  # maximum number of periods with other forwarders that are shown of a job
NOT_TOLD = Measurement(0.0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Explained:
    """A decision, and its shortfall if there was no match; `hidden` names the keys whose details were removed."""

    decision: Decision
    shortfall: Shortfall | None = None
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    """All information about a job that is shown; decisions and outcomes are newest first.

    `records` are the records whose settings were applied or whose fields are shown, in their present state. `hidden`
    are the ids of records that are shown without their user's words. `shared` has, by decision id, the number of other
    jobs' reports with the same decision; `outcomes` does not contain these reports. `model` is the label of the model
    in force, "" if unknown. `more` is True if there are more decisions or reports than shown. `profiles` are lines that
    describe where the records' applications spend their time. `forwarders` are the I/O forwarders that served the job,
    newest first. `patterns` has the access patterns that forwarders saw, by the id of the job's outcome.
    """

    decisions: Sequence[Explained] = ()
    outcomes: Sequence[Outcome] = ()
    records: Mapping[int, Record] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()
    shared: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    more: bool = False
    profiles: Mapping[int, str] = field(default_factory=dict)
    forwarders: Sequence[ForwarderShare] = ()
    patterns: Mapping[int, Sequence[JobPattern]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether there is any decision or report."""
        return bool(self.decisions or self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """Return the story as a JSON-ready dictionary for programs. Within a version, keys are only added."""
        return {
            "version": JSON_VERSION,
            "model": self.model,
            "decisions": [_decision_json(one) for one in self.decisions],
            "outcomes": [dataclasses.asdict(outcome) for outcome in self.outcomes],
            "records": {
                str(key): _record_json(record, key in self.hidden, self.profiles.get(key, ""))
                for key, record in self.records.items()
            },
            "shared": dict(self.shared),
            "more": self.more,
            "forwarders": [dataclasses.asdict(share) for share in self.forwarders],
            "patterns": [dataclasses.asdict(one) for some in self.patterns.values() for one in some],
        }

    @classmethod
    def from_json(cls, data: Any) -> Story:
        """Read the output of `to_json`, ignoring keys of newer releases. Raises ProtocolError."""
        try:
            if data["version"] != JSON_VERSION:
                raise ValueError(f"version {data['version']}")
            return cls(
                decisions=[_explained(one) for one in data["decisions"]],
                outcomes=[_read(Outcome, one) for one in data["outcomes"]],
                records={int(key): _record(one) for key, one in data["records"].items()},
                hidden=frozenset(int(key) for key, one in data["records"].items() if one["hidden"]),
                shared=data["shared"],
                model=data["model"],
                more=data["more"],
                profiles={int(key): one["profile"] for key, one in data["records"].items() if one.get("profile")},
                forwarders=[
                    _read(ForwarderShare, one) for one in data.get("forwarders", ())
                ],  # older daemons send none
                patterns=_patterns(data.get("patterns", ())),  # neither these
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProtocolError(
                f"cannot read an explanation made by another release ({error}): install the daemon's release"
            ) from error


@dataclass(frozen=True)
class Limits:
    """Maximum numbers of decisions and outcomes to read, None for no limit; `uid` restricts them to a user's jobs."""

    uid: int | None = None
    decisions: int | None = None
    outcomes: int | None = None


EVERYTHING = Limits()


def of_job(
    database: SupportDatabase, cluster: str, job: str, model: Model | None = None, limits: Limits = EVERYTHING
) -> Story:
    """Return the story of a job (`4711`), an array task (`4711_3`) or a decision, given by its id.

    `model` is the model in force. Raises NothingKnownError for any other text, or for the id of an unknown decision.
    """
    decisions, outcomes = _of_name(database, cluster, job, limits)
    told = {outcome.id for outcome in outcomes}
    reports = {one.id: database.outcomes_of_decision(one, limit=limits.outcomes) for one in decisions}
    shared = {key: sum(one.id not in told for one in reported) for key, reported in reports.items()}
    found = of_decisions(
        database, decisions, model, outcomes=outcomes, shared={key: count for key, count in shared.items() if count}
    )
    counts = ((limits.decisions, decisions), *((limits.outcomes, some) for some in (outcomes, *reports.values())))
    numbers = {one.job_id for one in outcomes}
    (number,) = numbers if len(numbers) == 1 else (None,)  # not for an array: its tasks are shown one by one
    served = () if number is None else tuple(database.shares_of_job(cluster, number, uid=limits.uid)[:SHARES])
    return dataclasses.replace(
        found,
        more=any(limit == len(some) for limit, some in counts),
        forwarders=served,
        patterns=database.job_patterns([one.id for one in outcomes[:RUNS]]),
    )


def check_name(job: str) -> None:
    """Raise NothingKnownError unless the text can be a job's number or a decision's id."""
    if not re.fullmatch(DECISION_ID, job):
        raise NothingKnownError(
            f"{job!r} is neither a job's number nor a decision's id: give 4711, 4711_3, or an id from the log; "
            "for a script, use --script FILE"
        )


def of_decisions(
    database: SupportDatabase,
    decisions: Sequence[Decision],
    model: Model | None,
    *,
    outcomes: Sequence[Outcome] = (),
    shared: Mapping[str, int] | None = None,
) -> Story:
    """Return a story that consists of these decisions and outcomes, and of the records to which the decisions refer."""
    records = {}
    for number in dict.fromkeys(number for decision in decisions for number in _compared(decision)):
        try:
            records[number] = database.record(number)
        except NotFoundError:
            continue
    explained = [Explained(decision, shortfall(decision, model)) for decision in decisions]
    profiles = {number: found.summary for number in records if (found := database.profile(number))}
    label = model.label if model else ""
    return Story(explained, outcomes, records, shared=shared or {}, model=label, profiles=profiles)


def compared_with(decision: Decision) -> Json | None:
    """Return the alternative (a record that was considered) to which a decision's `fields` refer; None if unknown."""
    return next((row for row in decision.alternatives if row.get("explained")), None)


def _compared(decision: Decision) -> list[int]:
    shown = compared_with(decision)
    numbers = (decision.record_id, shown["record"] if shown else None)
    return [number for number in numbers if number is not None]


def _of_name(
    database: SupportDatabase, cluster: str, job: str, limits: Limits
) -> tuple[Sequence[Decision], Sequence[Outcome]]:
    """Return the decisions and outcomes of a job or decision, newest first."""
    check_name(job)
    number = re.fullmatch(JOB_ID, job)
    if not number:
        try:
            decision = database.decision(job)
        except NotFoundError as error:
            raise NothingKnownError(str(error)) from error
        return [decision], database.outcomes_of_decision(decision, limit=limits.outcomes)
    uid = limits.uid
    decisions = database.decisions_of_job(cluster, int(number[1]), uid=uid, limit=limits.decisions)
    of_number = database.outcomes_of_job(cluster, int(number[1]), uid=uid, limit=limits.outcomes)
    if number[2] is None:
        return decisions, of_number
    # Each task has its own job id, except one task, which has the array's job id. The tasks share the decision.
    task = int(number[2])
    of_array = (database.outcomes_of_decision(decision, limit=limits.outcomes) for decision in decisions)
    outcomes = {one.id: one for some in (*of_array, of_number) for one in some}
    of_task = [outcome for outcome in outcomes.values() if outcome.array_task == task]
    named = {outcome.decision_id for outcome in of_task}
    return [one for one in decisions if one.array_task == task or one.id in named], of_task


# --- JSON


def _decision_json(one: Explained) -> dict[str, Any]:
    lacked = None
    if one.shortfall:
        missing = one.shortfall.missing
        lacked = {**dataclasses.asdict(one.shortfall), "missing": missing if math.isfinite(missing) else None}
    return {**dataclasses.asdict(one.decision), "shortfall": lacked, "hidden": list(one.hidden)}


def _record_json(record: Record, hidden: bool, profile: str) -> dict[str, Any]:
    of = subject(record.parametrization)
    shown = dict.fromkeys((*WORDS_OF_A_RECORD, *MEASURED)) if hidden else {}
    return {
        **dataclasses.asdict(record),
        **shown,
        "gain_of": of,
        "profile": "" if hidden else profile,
        "hidden": hidden,
    }


T = TypeVar("T")


def _read(kind: type[T], data: Mapping[str, Any]) -> T:
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in data.items() if name in names})


def _patterns(rows: Sequence[Mapping[str, Any]]) -> Mapping[int, Sequence[JobPattern]]:
    found: dict[int, list[JobPattern]] = {}
    for row in rows:
        one = _read(JobPattern, row)
        found.setdefault(one.outcome_id, []).append(one)
    return found


def _explained(data: Mapping[str, Any]) -> Explained:
    lacked = data["shortfall"]
    if lacked:
        missing = math.inf if lacked["missing"] is None else lacked["missing"]
        alone, together = (tuple(_read(Change, change) for change in lacked[key]) for key in ("alone", "together"))
        lacked = Shortfall(missing, alone, together)
    return Explained(_read(Decision, data), lacked, tuple(data["hidden"]))


def _record(data: Mapping[str, Any]) -> Record:
    measured = {key: _read(Measurement, data[key]) if data[key] else NOT_TOLD for key in MEASURED}
    words = {key: data[key] or {} for key in WORDS_OF_A_RECORD if key != "artifact_sha256"}
    if of := data.get("gain_of"):  # older daemons do not send `gain_of`
        words["parametrization"] = {**words["parametrization"], GAIN_OF: of}
    kinds = {"scope": Scope(data["scope"]), "status": RecordStatus(data["status"])}
    return _read(Record, {**data, **measured, **words, **kinds})
