# SPDX-License-Identifier: Apache-2.0
"""The values that the database keeps. Times are Unix seconds (UTC); JSON columns are dictionaries and lists here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple, get_args

Json = Mapping[str, Any]

Verdict = Literal["apply", "none", "observe", "holdout", "defer", "off", "unreachable"]
"""What a job got. The plugin itself reports the last two, of jobs without a decision: it was switched off for them, or
no matcher answered."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Scope(StrEnum):
    """Who a record is for: jobs linked to its metadata, or any job on the machine that its context covers."""

    APPLICATION = "application"
    CLUSTER = "cluster"


class RecordStatus(StrEnum):
    ACTIVE = "active"
    QUARANTINED = "quarantined"
    RETIRED = "retired"


class CampaignState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


class TrialState(StrEnum):
    """PLANNED and RUNNING are open; a resumed campaign takes them over or runs them again. The others are final."""

    PLANNED = "planned"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    TIMEOUT = "timeout"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    PRUNED = "pruned"


class TrialRole(StrEnum):
    """Why a trial is run: the reference, the search, or the final comparison of the winner with the default."""

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
    """A search for the best parametrization of one component. `spec` is the whole input, seed included."""

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
    (PRUNED: a lower bound of it). `samples` are single measurements, where the benchmark tells them.
    `attempt` counts from 1 the times that it was begun: again only where what was begun was lost with its coordinator.
    `limit_s`: run time after which it is pruned. `elapsed_s`: run time, on `nodes`, also where it failed.
    `ordinal` orders the trials of a campaign by their ends, whatever the clock did; None while it is open. `metrics`:
    what the objective is made of, by name, where it is made of several.
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
    """A tuned job: what it is, what it gets, and what that was measured to gain.

    `context` restricts where the record holds (`cluster`: str, `nodes`: int, `tasks_per_node`: int, `openmpi`: list of
    releases; absent keys do not restrict). `metadata` is a JobMetadata as JSON (empty for scope `cluster`).
    `environment` is what a job gets, ready to set. `conflicts` are patterns (`*` at the end) of variables: a job whose
    user set one gets nothing from this record. `gain` is 1 - tuned/default, with its 95 % bounds. `status_at` (None:
    since it was made) and `status_reason` are those of the status.
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
    """Of a record, what decisions need, as the database holds it: JSON as text, and nothing checked. `quarantined_for`:
    the ids of the users for whom it is set aside; `subject`: what its gain is of (`gain_subject.subject_in`)."""

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
    """Records that are new or not as they were, and the ids of those that are there no more.

    With `all_of_them`, all that there are. `number` is that of the last change that is among these. `changed` reads
    the database while it is gone through.
    """

    number: int
    changed: Iterator[RecordText]
    gone: Sequence[int]
    all_of_them: bool


@dataclass(frozen=True)
class Decision:
    """What the matcher answered, and why. `fields` and `alternatives` are as `matcher` writes them; secrets are masked.

    `id` is unique text made by the matcher. `job_id` is None until the job reports. `record_id` is the best record.
    `block`: of `block_size` jobs alike, some of which are given the settings of the record `compared_id`, and some not
    (`held_out`); None where the job is compared with none.
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
    """A job of a record, in a block with others of the same user of which some were held out. `size`: jobs that the
    block has once it is full, 0 where that is not known. `nodes`: as far as known; `elapsed_s` and `failed` are None
    where no end was confirmed."""

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
    """A user's latest jobs of a record that are compared, in whole blocks; how many there are in all, and blocks before
    these."""

    latest: Sequence[Compared]
    jobs: int
    blocks_before: int


@dataclass(frozen=True)
class StatusChange:
    """The status that a record has had since `at` (Unix seconds), and why."""

    record_id: int
    at: float
    status: RecordStatus
    reason: str = ""
    id: int = 0


@dataclass(frozen=True)
class UserQuarantine:
    """A record set aside for one user since `at` (Unix seconds), on the evidence of this user's own jobs."""

    record_id: int
    uid: int
    user: str
    at: float
    reason: str


@dataclass(frozen=True)
class RecordProfile:
    """What a record's application spends its time on: in one line, and as `reprise tune profile --output` writes it.

    It was measured at `at`, in Unix seconds.
    """

    record_id: int
    at: float
    summary: str
    document: Json


@dataclass(frozen=True)
class Outcome:
    """What a job reported. One row per (cluster, job, array task, start); updated when the job ends.

    `exit_status` is a wait(2) status. `decision_id` is None for jobs without a decision (verdict `off`, `unreachable`).
    `unreadable` counts files that the settings name and the job's user cannot read; `present` the variables that the
    tasks of its first step had (None: no step told). `confirmed`: slurmstepd told the end, as root, so that it is
    evidence; else whoever sent it may have invented it.
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
    """A start of a job with its decision, as far as there is either. `at`: when it was decided, or else started;
    `verdict` is the decision's, or else what the job reported; `user` is empty where only the id is known, `program`
    None where it is not."""

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
    """Jobs of one user and batch script (where its path is not known, job name) whose program the parser could not
    tell.

    `jobs` and `node_hours` are of those that ended; a job whose nodes are not known counts as one node. `decision_id`
    is that of the newest.
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
    """Jobs of one user, application (program, or else job name) and number of nodes that no record was near to.

    `jobs` and `node_hours` are of those that ended; where `nodes` is None, each counts as one node. `decision_id` is
    that of the newest.

    `gain` is what a record is expected to gain these (None: not judged yet), by so many active records of the same
    application (`of_program`) and of the same user (`of_user`), and campaigns of either without one (`in_vain`).
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
    """A time during which the daemon ran: so that support can tell that it did not when a job was submitted."""

    started_at: float
    seen_at: float
    stopped_at: float | None = None
    version: str = ""
    id: int = 0


@dataclass(frozen=True)
class Prediction:
    """A model of what a part (`target`, e.g. `read`) takes in jobs of a family, trained on `rows`, from which it is
    fitted anew: nothing of it has to be unpacked. `engine` names the library and its release, `settings` what it was
    told.

    `mdape` (percent) and `r2` are of configurations held out; None where there were too few. `refused` says in a line
    why it must not be asked, and is empty where it may.
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
