# SPDX-License-Identifier: Apache-2.0
"""Values that the database stores.

Times are in Unix seconds (UTC). The contents of JSON columns are dictionaries and lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple, get_args

Json = Mapping[str, Any]

Verdict = Literal["apply", "none", "observe", "holdout", "defer", "off", "unreachable"]
"""Verdict on a job; `off` and `unreachable` are reported by the plugin itself, for jobs without a decision.

`off`: the plugin was switched off for the job. `unreachable`: no matcher answered.
"""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Scope(StrEnum):
    """The jobs that may get a record's settings: jobs that match its metadata, or all jobs that its context covers."""

    APPLICATION = "application"
    CLUSTER = "cluster"


class RecordStatus(StrEnum):
    """Status of a record; only settings of active records are applied to jobs."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    RETIRED = "retired"


class CampaignState(StrEnum):
    """State of a campaign, as its coordinator last stored it."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


class TrialState(StrEnum):
    """State of a trial.

    PLANNED and RUNNING are open states: when a campaign is resumed, it takes over trials in these states, or runs them
    again. All other states are final.
    """

    PLANNED = "planned"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    TIMEOUT = "timeout"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    PRUNED = "pruned"


class TrialRole(StrEnum):
    """Purpose of a trial: to measure the default as a reference, to search, or finally to compare best and default."""

    DEFAULT = "default"
    SEARCH = "search"
    FINAL_DEFAULT = "final-default"
    FINAL_TUNED = "final-tuned"


@dataclass(frozen=True)
class Measurement:
    """The mean of `n` samples with the bounds of its 95 % confidence interval, in `unit`."""

    mean: float
    low: float
    high: float
    n: int
    unit: str = "s"


@dataclass(frozen=True)
class Campaign:
    """A search for the best parametrization of one component; `spec` is the complete input, including the seed."""

    name: str
    component: str
    component_version: str
    created_at: float
    spec: Json
    context: Json
    state: CampaignState = CampaignState.RUNNING
    summary: Json = field(default_factory=dict)
    heartbeat_at: float | None = None
    id: int = 0


@dataclass(frozen=True)
class Trial:
    """One evaluation of one parametrization of one problem (e.g. `bcast/65536`) in a campaign.

    `number` is the index of the trial among the trials of its problem in the campaign. `value` is the objective in
    `unit`; for a PRUNED trial, it is a lower bound of the objective, and in states other than COMPLETE and PRUNED, it
    is None. `samples` has the individual measurements, if the benchmark reports them. `attempt` is the number of times
    that the trial was started; a trial is started again only if it was lost with its coordinator. `limit_s` is the run
    time after which the trial is pruned. `elapsed_s` is the run time on `nodes` nodes, even if the trial failed.
    `ordinal` is the trial's position in the order in which the campaign's trials ended, independent of the clock; it is
    None while the trial is open. `metrics` has the parts of the objective by name, if there are several.
    """

    campaign_id: int
    problem: str
    number: int
    role: TrialRole
    parametrization: Json
    state: TrialState = TrialState.PLANNED
    value: float | None = None
    unit: str = "s"
    samples: Sequence[float] = ()
    slurm_job_id: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    message: str = ""
    attempt: int = 1
    limit_s: float | None = None
    nodes: int = 0
    elapsed_s: float | None = None
    ordinal: int | None = None
    metrics: Json = field(default_factory=dict)
    id: int = 0


@dataclass(frozen=True)
class Artifact:
    """A file that jobs read, identified by the SHA-256 digest of its content (hexadecimal)."""

    sha256: str
    path: str
    kind: str
    size: int
    created_at: float


@dataclass(frozen=True)
class Record:
    """A tuned job, with its description, its settings, and the measured gain of the settings.

    `context` restricts the jobs to which the record applies (`cluster`: str, `nodes`: int, `tasks_per_node`: int,
    `openmpi`: list of releases; absent keys do not restrict). `metadata` is a JobMetadata as JSON, empty for the scope
    `cluster`. `environment` has the variables to set for a job. `conflicts` has names of variables, or patterns with
    `*` at the end: if a job's user has set such a variable, the job gets no settings from this record. `gain` is 1 -
    tuned/default; `gain_low` and `gain_high` are its 95 % bounds. `status_at` is the time at which the record got its
    status (None: when it was created), and `status_reason` is the reason.
    """

    component: str
    component_version: str
    scope: Scope
    created_at: float
    context: Json
    metadata: Json
    parametrization: Json
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    default: Measurement
    tuned: Measurement
    gain: float
    gain_low: float
    gain_high: float
    campaign_id: int | None = None
    artifact_sha256: str | None = None
    status: RecordStatus = RecordStatus.ACTIVE
    status_at: float | None = None
    status_reason: str = ""
    id: int = 0


class RecordText(NamedTuple):
    """The part of a record that decisions need, as the database stores it: JSON is text, and nothing is checked.

    `quarantined_for` has the ids of the users for whom the record is quarantined. `subject` is the text from which
    `gain_subject.subject_in` derives the subject of the gain, and `io_kinds` that for `record_io_kinds.kinds_in_text`.
    """

    id: int
    component: str
    scope: str
    created_at: float
    context: str
    metadata: str
    environment: str
    conflicts: str
    gain: float
    gain_low: float
    status: str
    quarantined_for: str = "[]"
    subject: str = "[]"
    io_kinds: str = "[]"


@dataclass(frozen=True)
class RecordChanges:
    """New and changed records, and the ids of deleted records.

    If `all_of_them` is true, `changed` has all records. `number` is the number of the most recent change that is
    included. Iterating over `changed` reads the database.
    """

    number: int
    changed: Iterator[RecordText]
    gone: Sequence[int]
    all_of_them: bool


@dataclass(frozen=True)
class Decision:
    """The matcher's answer for a job, with the reason.

    The form of `fields` and `alternatives` is defined by `matcher`. Secrets are masked when the decision is stored.

    `id` is a unique text that the matcher generates. `job_id` is None until the job reports. `record_id` is the id of
    the best record. `block` is the name of a block of `block_size` similar jobs, some with the settings of the record
    `compared_id` and some without (`held_out`); it is None if the job is not in a block.
    """

    id: str
    at: float
    point: str
    cluster: str
    uid: int
    user: str
    mode: str
    verdict: str
    reason: str
    model: str
    threshold: float
    metadata: Json
    score: float | None = None
    record_id: int | None = None
    fields: Sequence[Json] = ()
    alternatives: Sequence[Json] = ()
    injected: Mapping[str, str] = field(default_factory=dict)
    elapsed_ms: float = 0.0
    job_id: int | None = None
    array_task: int | None = None
    block: str | None = None
    compared_id: int | None = None
    held_out: bool = False
    block_size: int | None = None


@dataclass(frozen=True)
class Compared:
    """A job in a block of one user's similar jobs; some of a block's jobs get a record's settings, others are held out.

    `size` is the number of jobs in the full block, 0 if unknown. `nodes` is None if it is unknown. `elapsed_s` and
    `failed` are None if the job's end was not confirmed.
    """

    uid: int
    block: str
    size: int
    decision_id: str
    at: float
    nodes: int | None
    held_out: bool
    elapsed_s: float | None
    failed: bool | None


@dataclass(frozen=True)
class LatelyCompared:
    """A user's most recent jobs in a record's blocks (`latest`).

    `jobs` is the number of all jobs of this user in the record's blocks. `blocks_before` is the number of blocks before
    those of `latest`.
    """

    latest: Sequence[Compared]
    jobs: int
    blocks_before: int


@dataclass(frozen=True)
class StatusChange:
    """A change of a record's status at `at` (Unix seconds), with the reason."""

    record_id: int
    at: float
    status: RecordStatus
    reason: str = ""
    id: int = 0


@dataclass(frozen=True)
class UserQuarantine:
    """A record's quarantine for one user since `at` (Unix seconds); only this user's own jobs have led to it."""

    record_id: int
    uid: int
    user: str
    at: float
    reason: str


@dataclass(frozen=True)
class RecordProfile:
    """The profile of a record's application, measured at `at` (Unix seconds).

    `summary` is one line; `document` has the form that `reprise tune profile --output` writes.
    """

    record_id: int
    at: float
    summary: str
    document: Json


@dataclass(frozen=True)
class Outcome:
    """The reports about one run of a job: its start, its first step and its end.

    There is one row for each start of a job or array task; the row is updated when the job ends. `exit_status` is a
    wait(2) status. `decision_id` is None for jobs without a decision (verdicts `off` and `unreachable`). `unreadable`
    is the number of files that the settings name and that the job's user cannot read. `present` is the number of the
    settings' variables that the tasks of the job's first step had, None if no step has reported. `confirmed` means that
    slurmstepd, which runs as root, reported the end, so the report can be trusted; otherwise, the sender may have
    invented it.
    """

    cluster: str
    job_id: int
    array_task: int | None
    uid: int
    verdict: str
    started_at: float
    decision_id: str | None = None
    applied: int = 0
    ended_at: float | None = None
    elapsed_s: float | None = None
    exit_status: int | None = None
    unreadable: int = 0
    present: int | None = None
    confirmed: bool = False
    id: int = 0


@dataclass(frozen=True)
class ListedJob:
    """A start of a job, a decision about a job, or both, as shown in the result of a search.

    `at` is the time of the decision, or of the start if there is no decision. `verdict` is the decision's verdict, or
    the verdict that the job itself reported if there is no decision. `user` is empty if only the user's id is known,
    `program` is None if the program is unknown, and `reason` is empty if there is no decision.
    """

    cluster: str
    job_id: int | None
    array_task: int | None
    uid: int
    user: str
    at: float
    verdict: str
    record_id: int | None
    score: float | None
    elapsed_s: float | None
    exit_status: int | None
    decision_id: str | None
    program: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class UnreadScript:
    """One user's jobs with the same batch script, in which the parser found no program.

    If the path of the script is unknown, jobs with the same job name are assumed to have the same script.

    `jobs` and `node_hours` count jobs that have ended; a job with an unknown number of nodes counts as running on one
    node. `decision_id` is the id of the newest decision for such a job.
    """

    uid: int
    user: str
    script_path: str
    job_name: str
    jobs: int
    node_hours: float
    decision_id: str


@dataclass(frozen=True)
class UnmatchedClass:
    """One user's jobs that run one application on one number of nodes and to which no record was similar enough.

    `application` is the program or, if that is unknown, the job name. `jobs` and `node_hours` count jobs that have
    ended; if `nodes` is None, each job counts as running on one node. `decision_id` is the id of the newest decision
    for such a job.

    `gain` is the expected gain of a record for these jobs, None if the gain has not been estimated yet. The estimate
    uses the active records of the same application (their number is `of_program`) and of the same user (`of_user`), and
    the campaigns for the same application or user that did not produce a record (their number is `in_vain`).
    """

    uid: int
    user: str
    application: str
    nodes: int | None
    jobs: int
    node_hours: float
    decision_id: str
    gain: float | None = None
    of_program: int = 0
    of_user: int = 0
    in_vain: int = 0


@dataclass(frozen=True)
class ServiceRun:
    """A period in which the daemon ran. These periods show whether the daemon ran when a job was submitted."""

    started_at: float
    seen_at: float
    stopped_at: float | None = None
    version: str = ""
    id: int = 0


@dataclass(frozen=True)
class Prediction:
    """A model that predicts one cost (`target`, e.g. `read`) of a family of jobs, stored as its training data (`rows`).

    The model is fitted to the rows again when it is needed. It is not stored as a pickled object, because loading such
    an object could execute code. `engine` is the name and release of the library, and `settings` has the library's
    parameters.

    `mdape` (in percent) and `r2` are measured on held-out configurations; they are None if there were too few of these.
    `refused` is the reason why the model must not be used, in one line; it is empty if the model may be used.
    """

    family: str
    component: str
    component_version: str
    target: str
    created_at: float
    engine: str
    settings: Json
    rows: Sequence[Json]
    configurations: int
    mdape: float | None = None
    r2: float | None = None
    refused: str = ""
    id: int = 0


@dataclass(frozen=True)
class ForwardedJob:
    """A start of a job that got the settings of the component `forwarders`, and whose end was not reported.

    `parametrization` is that of the record, whose component `component` may be a combination. `expected_s` is the mean
    run time of the tuned job, None if the record was not measured by run time. `outcome_id` is the id of the start.
    """

    outcome_id: int
    job_id: int
    uid: int
    started_at: float
    component: str
    parametrization: Json
    expected_s: float | None = None


@dataclass(frozen=True)
class JobPattern:
    """An access pattern of a start of a job, as I/O forwarders saw it.

    `pattern` is its text, such as `write/shared/strided/64K`, or `unknown`. `seconds` is the number of seconds with the
    pattern, added up over all forwarders, and `bytes` is the number of bytes that were read or written in them.
    `confirmed_bytes` are those of processes whose user munge confirmed to be the job's.
    """

    outcome_id: int
    pattern: str
    seconds: float
    bytes: int
    confirmed_bytes: int = 0


@dataclass(frozen=True)
class ForwarderShare:
    """The I/O forwarders that a job had from `at` to `until` (None: it still has them), and the reason.

    `forwarders` are addresses, none for direct access. `shared` means that the job shares its forwarder with others.
    `nodes` and `processes` are the job's size, and `policy` is the rule that was in force.
    """

    cluster: str
    job_id: int
    uid: int
    at: float
    forwarders: Sequence[str]
    shared: bool
    nodes: int
    processes: int
    policy: str
    reason: str
    until: float | None = None
    id: int = 0


@dataclass(frozen=True)
class ForwarderState:
    """Whether a forwarder worked from `at` to `until` (None: until now); `reason` is the error if it did not."""

    cluster: str
    address: str
    works: bool
    at: float
    reason: str = ""
    until: float | None = None
    id: int = 0
