# SPDX-License-Identifier: Apache-2.0
"""Values that the database stores. Times are Unix seconds (UTC); JSON columns are dictionaries and lists here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple, get_args

Json = Mapping[str, Any]

Verdict = Literal["apply", "none", "observe", "holdout", "defer", "off", "unreachable"]
"""Decision about a job. The plugin itself reports the last two, for jobs without a decision.

They mean that the plugin was switched off for the job, and that no matcher answered.
"""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Scope(StrEnum):
    """Jobs that a record is for: those linked to its metadata, or any job on the machine that its context covers."""

    APPLICATION = "application"
    CLUSTER = "cluster"


class RecordStatus(StrEnum):
    """Status of a record; only active records are given to jobs."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    RETIRED = "retired"


class CampaignState(StrEnum):
    """State of a campaign."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


class TrialState(StrEnum):
    """State of a trial.

    PLANNED and RUNNING are open: a resumed campaign takes such trials over or runs them again. The others are
    final.
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
    """Purpose of a trial: the reference, the search, or the final comparison of the winner with the default."""

    DEFAULT = "default"
    SEARCH = "search"
    FINAL_DEFAULT = "final-default"
    FINAL_TUNED = "final-tuned"


@dataclass(frozen=True)
class Measurement:
    """A mean with the bounds of its 95 % confidence interval, from `n` samples, in `unit`."""

    mean: float
    low: float
    high: float
    n: int
    unit: str = "s"


@dataclass(frozen=True)
class Campaign:
    """A search for the best parametrization of one component. `spec` is the whole input, including the seed."""

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

    `number` counts within (campaign, problem) from 0. `value` is the objective in `unit`, None unless COMPLETE
    (PRUNED: a lower bound of it). `samples` are single measurements, if the benchmark reports them. `attempt`
    counts from 1 how often it was started: a trial is started again only if it was lost with its coordinator.
    `limit_s` is the run time after which it is pruned, `elapsed_s` the run time on `nodes`, also if it failed.
    `ordinal` orders the trials of a campaign by their ends, independent of the clock; None while it is open.
    `metrics` are the parts of the objective by name, if it has several.
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
    """A file that jobs read, named by its content's SHA-256 (hex)."""

    sha256: str
    path: str
    kind: str
    size: int
    created_at: float


@dataclass(frozen=True)
class Record:
    """A tuned job: its description, its settings, and their measured gain.

    `context` restricts where the record applies (`cluster`: str, `nodes`: int, `tasks_per_node`: int, `openmpi`:
    list of releases; absent keys do not restrict). `metadata` is a JobMetadata as JSON (empty for scope `cluster`).
    `environment` contains the variables for a job, ready to set. `conflicts` are patterns (`*` at the end) of
    variables: if a job's user set one, the job gets nothing from this record. `gain` is 1 - tuned/default, with its
    95 % bounds. `status_at` (None: since it was made) and `status_reason` describe the status.
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
    """The part of a record that decisions need, as the database stores it: JSON as text, nothing checked.

    `quarantined_for` has the ids of users for whom it is quarantined; `subject` says what the gain was measured on
    (`gain_subject.subject_in`).
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


@dataclass(frozen=True)
class RecordChanges:
    """New and changed records, and the ids of deleted ones.

    With `all_of_them`, these are all records. `number` is the number of the last change included. `changed` reads
    the database while it is iterated.
    """

    number: int
    changed: Iterator[RecordText]
    gone: Sequence[int]
    all_of_them: bool


@dataclass(frozen=True)
class Decision:
    """The matcher's answer, and the reason. `fields` and `alternatives` have the form of `matcher`; secrets are masked.

    `id` is unique text made by the matcher. `job_id` is None until the job reports. `record_id` is the best record.
    `block` names a block of `block_size` similar jobs, some with the settings of the record `compared_id` and some
    without (`held_out`); None if the job is not compared.
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
    """A job of a record, in a block with others of the same user, some of them held out.

    `size` is the number of jobs in the full block, 0 if unknown. `nodes` is None if unknown; `elapsed_s` and
    `failed` are None if no end was confirmed.
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
    """A user's latest compared jobs of a record, in whole blocks, with the number of all jobs and of earlier blocks."""

    latest: Sequence[Compared]
    jobs: int
    blocks_before: int


@dataclass(frozen=True)
class StatusChange:
    """The status of a record since `at` (Unix seconds), and the reason."""

    record_id: int
    at: float
    status: RecordStatus
    reason: str = ""
    id: int = 0


@dataclass(frozen=True)
class UserQuarantine:
    """A quarantine of a record for one user since `at` (Unix seconds), on the evidence of this user's own jobs."""

    record_id: int
    uid: int
    user: str
    at: float
    reason: str


@dataclass(frozen=True)
class RecordProfile:
    """The profile of a record's application: a summary of one line, and the form of `reprise tune profile --output`.

    It was measured at `at`, in Unix seconds.
    """

    record_id: int
    at: float
    summary: str
    document: Json


@dataclass(frozen=True)
class Outcome:
    """Reports of a job. One row per (cluster, job, array task, start); updated when the job ends.

    `exit_status` is a wait(2) status. `decision_id` is None for jobs without a decision (verdict `off`,
    `unreachable`). `unreadable` counts files that the settings name and the job's user cannot read; `present` lists
    the variables in the tasks of its first step (None: no step reported). `confirmed`: slurmstepd, as root,
    reported the end, so that it is evidence; otherwise the sender may have invented it.
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
    """A start of a job with its decision, as far as either exists.

    `at` is the time of the decision, or of the start if there is none; `verdict` is the decision's, or the one that
    the job reported. `user` is empty if only the id is known, `program` None if unknown.
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


@dataclass(frozen=True)
class UnreadScript:
    """Jobs of one user and batch script, or job name if its path is unknown, in which the parser found no program.

    `jobs` and `node_hours` count jobs that ended; a job with an unknown number of nodes counts as one node.
    `decision_id` is the newest decision's.
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
    """Jobs of one user, application (program or else job name) and number of nodes without a similar record.

    `jobs` and `node_hours` count jobs that ended; if `nodes` is None, each counts as one node. `decision_id` is the
    newest decision's.

    `gain` is the gain that a record is expected to have (None: not estimated yet). It is estimated from the active
    records of the same application (`of_program` of them) and of the same user (`of_user`), and from the campaigns
    of either that made no record (`in_vain`).
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
    """A period in which the daemon ran, so that support can see whether it ran when a job was submitted."""

    started_at: float
    seen_at: float
    stopped_at: float | None = None
    version: str = ""
    id: int = 0


@dataclass(frozen=True)
class Prediction:
    """A model of the cost of a part (`target`, e.g. `read`) in jobs of a family, stored as its training `rows`.

    The model is fitted again from the rows, so that nothing has to be unpickled. `engine` names the library and its
    release, `settings` its parameters.

    `mdape` (percent) and `r2` are measured on held-out configurations; None if there were too few. `refused` is the
    reason not to use the model, in one line; empty if it may be used.
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
