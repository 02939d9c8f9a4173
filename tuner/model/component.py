# SPDX-License-Identifier: Apache-2.0
"""What a campaign needs to know of the thing it tunes. Implementations: `tuner.openmpi.collectives_component`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from reprise.database.entities import Artifact, Measurement, Record
from reprise.tuner.model.space import Parametrization, Space, same


@dataclass(frozen=True)
class Problem:
    """One thing to tune within a campaign. `key` is unique and readable, e.g. `bcast/65536`.

    `first`: points that its search tries before all others; the campaign sets them (`warm_start`). Problems of one
    `round` can be evaluated by one run, each with a point of its own; those of one `family` have parameters in common
    and differ in their `context`, positive numbers, the same names for all, so that one tells of the others. Empty:
    it is alone. `common` says what a point is in terms that mean the same in all of the family.
    """

    key: str
    space: Space
    default: Parametrization
    first: Sequence[Parametrization] = ()
    round: str = ""
    family: str = ""
    context: Mapping[str, float] = field(default_factory=dict)
    common: Callable[[Parametrization], Parametrization] = same


@dataclass(frozen=True)
class TrialPlan:
    """How to evaluate one parametrization: a parallel program or a batch script, its environment, files to write first.

    `argv` is the program with its arguments, without launcher, to be started on `nodes` with `tasks_per_node` each.
    `script` instead (`argv` is empty then) is the text of a whole batch script: an unchanged copy of it is run and
    measured, on as many nodes as its own #SBATCH lines and `options` say (`nodes` is what it is expected to cost), in
    `work_directory`, where its user submits it; the trial's directory if that is empty.

    `options` are sbatch's, and `directives` lines such as `#SBB ...` of the job's script, for executors whose trials
    are jobs. `before` is shell that is run on the first node before the measured part; where its last command fails, so
    does the trial. `placement` is "core" where a node is filled before the next, "node" where tasks are dealt round the
    nodes, and empty where that makes no difference. `preload` are libraries that the measured part gets at the end of
    LD_PRELOAD. File names are relative to the trial's directory; `{directory}` in `environment` values stands for it.
    An infinite `timeout_s` leaves the limit to the script and to Slurm.
    """

    argv: Sequence[str]
    nodes: int
    tasks_per_node: int
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0
    script: str | None = None
    work_directory: str = ""
    options: Sequence[str] = ()
    directives: Sequence[str] = ()
    before: str = ""
    preload: Sequence[str] = ()
    placement: str = ""


@dataclass(frozen=True)
class Wanted:
    """What a run is to evaluate of a problem; above the objective `most` (None: never) it may be given up."""

    problem: str
    point: Parametrization
    most: float | None = None


@dataclass(frozen=True)
class Sample:
    """What a trial's output says: the objective (mean), single measurements where known, in `unit`.

    `given_up`: it was, and `value` is a lower bound. `metrics`: what the objective is made of, by name, in `unit` each.
    """

    value: float
    samples: Sequence[float] = ()
    unit: str = "s"
    given_up: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)


PROCESSORS = "processors"  # keys of a context: those that a job has on each node
TASKS_PER_NODE = "tasks_per_node"
MEMORY = "memory"  # MiB that a job may use on each node; 0: all


@dataclass(frozen=True)
class FromTrials:
    """In a publication's context: what Slurm gave the campaign's trials, which they write down. `otherwise`: what holds
    where they do not say; None: then there is no record."""

    otherwise: int | None = None


@dataclass(frozen=True)
class Comparison:
    """The winner of a problem against the default, from interleaved runs."""

    problem: str
    winner: Parametrization
    default: Measurement
    tuned: Measurement
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True)
class Publication:
    """What becomes a record: environment, conflicts, the artifact if any, and the combined measurements.

    Without any environment there is nothing that jobs could be given, and so no record. `note` says in one line what
    jobs must bring themselves, or why there is no record. `context` is what this record holds for, where that is less
    than the component's whole context; of a combination, all but the cluster. `other_artifacts` are more files that the
    environment names. `component` and `version` are those of a combination's record; empty: the campaign's. `replaces`
    are records whose settings are among these.
    """

    parametrization: Mapping[str, object]
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    default: Measurement
    tuned: Measurement
    gain: float
    gain_low: float
    gain_high: float
    artifact: Artifact | None = None
    note: str = ""
    context: Mapping[str, object] = field(default_factory=dict)
    other_artifacts: Sequence[Artifact] = ()
    component: str = ""
    version: str = ""
    replaces: Sequence[int] = ()

    @classmethod
    def of(cls, comparison: Comparison, **more: Any) -> Publication:
        """With the measurements and the gain of one comparison, and `more` fields."""
        measured = ("default", "tuned", "gain", "gain_low", "gain_high")
        return cls(**{name: getattr(comparison, name) for name in measured}, **more)


@dataclass(frozen=True)
class Published:
    """A record that jobs are given already, and the keys of all problems that its campaign had; none where that is not
    known."""

    record: Record
    problems: Sequence[str]


class Runner(Protocol):
    """Runs a plan to its end on the campaign's executor, e.g. for a proof. Raises TunerError where it cannot."""

    def __call__(self, plan: TrialPlan) -> TrialOutput: ...


@dataclass(frozen=True)
class TrialOutput:
    """What a run left: exit status, standard output and standard error, seconds from start to end, and its files.

    The seconds are those of the measured part only: never time in the queue, nor of `TrialPlan.before`.
    """

    exit_status: int
    stdout: str
    stderr: str
    elapsed_s: float
    directory: Path | None = None  # the trial's, where the executor has one


class Component(Protocol):
    """A tunable component."""

    name: str
    version: str

    def context(self) -> Mapping[str, object]:
        """What measurements and record hold for, beside the cluster: a campaign is not resumed with another one."""

    def problems(self) -> Sequence[Problem]:
        """What is to be tuned, in order."""

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """How to evaluate one parametrization of a problem."""

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """The objective from a trial's output. Raises ObjectiveError where the output does not hold it, and
        CampaignFailedError where it shows that no trial can tell anything."""

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Compile, prove and publish what was found: a publication for each record; none where nothing is better than
        the default beyond noise."""


def size_of(component: Component, problems: Sequence[Problem]) -> dict[str, int]:
    """How large its jobs are, as far as the first problem's reference run tells."""
    if not problems:
        return {}
    plan = component.plan(problems[0].key, problems[0].default)
    return {"nodes": plan.nodes, "tasks_per_node": plan.tasks_per_node}


@runtime_checkable
class Reviewer(Protocol):
    """A component that can say what is odd about its own measurements."""

    def review(self, defaults: Mapping[str, Measurement], comparisons: Sequence[Comparison]) -> Sequence[str]:
        """One line for each thing that an admin should look into. `defaults`: of each problem, before the search."""


@runtime_checkable
class RoundComponent(Component, Protocol):
    """A component that has problems of one `round`."""

    def plan_round(self, wanted: Sequence[Wanted]) -> TrialPlan:
        """How to evaluate points of several problems of one round, one after the other, by one run."""


@runtime_checkable
class MergingComponent(Component, Protocol):
    """A component of which a job is given one record for the whole cluster, so that a new record has to hold what
    earlier ones hold."""

    def check_earlier(self, earlier: Sequence[Published]) -> None:
        """Raise TunerError, before anything is run, where what is given already cannot be taken over."""

    def publish_with(
        self, earlier: Sequence[Published], comparisons: Sequence[Comparison], run: Runner, artifacts: Path
    ) -> Sequence[Publication]:
        """As `publish`, together with what the active records for the whole cluster hold."""
