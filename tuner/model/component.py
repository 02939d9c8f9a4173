# SPDX-License-Identifier: Apache-2.0
"""Interface between a campaign and the component that it tunes, such as `tuner.openmpi.collectives_component`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from reprise.database.entities import Artifact, Measurement, Record, Trial
from reprise.tuner.model.space import Parametrization, Space, same


@dataclass(frozen=True)
class Problem:
    """A part of a campaign that is tuned by its own search. `key` is unique and readable, e.g. `bcast/65536`.

    `first`: points that the search tries before all others; the campaign sets them (`warm_start`). Problems of one
    `round` can be evaluated by one run, each with a separate point. Problems of one `family` have the same parameters
    and differ in their `context`: positive numbers by name, with the same names in the whole family. The search for
    each of these problems also learns from the results of the others. If `family` is empty, the problem is searched
    alone. `common` converts a point to a form that has the same meaning in the whole family.
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
    """Plan of a trial: a parallel program or a batch script, its environment, and the files to write before it runs.

    `argv` is the program with its arguments, but without a launcher, to be started on `nodes` nodes with
    `tasks_per_node` tasks each. Alternatively, `argv` is empty and `script` is the text of a whole batch script. An
    unchanged copy of the script runs and is measured on the nodes that its #SBATCH lines and `options` request; `nodes`
    is then only the expected number, from which the cost is computed. The copy runs in `work_directory`, from which the
    user submits the script, or in the trial's directory if `work_directory` is empty.

    `options` are options of sbatch, and `directives` are lines such as `#SBB ...` for the job's script, both for
    executors whose trials are jobs. `before` is shell code that runs on the first node before the measured part; if its
    last command fails, so does the trial. `placement` is "core" to fill a node before the next, "node" to distribute
    tasks round-robin over the nodes, and empty if the placement makes no difference. `preload` are libraries appended
    to LD_PRELOAD of the measured part. File names are relative to the trial's directory; `{directory}` in `environment`
    values is replaced by its path. An infinite `timeout_s` leaves the limit to the script and to Slurm.
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
    """A point of a problem to evaluate; the run may give up the point if its objective exceeds `most` (None: never)."""

    problem: str
    point: Parametrization
    most: float | None = None


@dataclass(frozen=True)
class Sample:
    """Result in a trial's output: the objective (mean), and individual measurements if known, in `unit`.

    `given_up`: the evaluation was given up, and `value` is a lower bound. `metrics`: the parts of the objective by
    name, each in `unit`.
    """

    value: float
    samples: Sequence[float] = ()
    unit: str = "s"
    given_up: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)


PROCESSORS = "processors"  # context key: the number of a job's processors on each node
TASKS_PER_NODE = "tasks_per_node"
MEMORY = "memory"  # context key: the MiB of memory that a job may use on each node; 0: all


@dataclass(frozen=True)
class FromTrials:
    """Placeholder in a publication's context for a value that Slurm sets and the trials record.

    `otherwise`: the value if the trials do not record it. If there is no value at all, no record is written.
    """

    otherwise: int | None = None


@dataclass(frozen=True)
class Comparison:
    """Comparison of a problem's winner with its default, from interleaved runs."""

    problem: str
    winner: Parametrization
    default: Measurement
    tuned: Measurement
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True)
class Publication:
    """Contents of a record: environment, conflicts, the artifact if any, and the combined measurements.

    `environment` has the variables to set in jobs; if it is empty, no record is written. `conflicts` are patterns of
    variables: a job that already sets one of these variables gets no settings. `note` says in one line what jobs must
    provide themselves, or why there is no record. `context` has the conditions under which this record is valid, if
    they are narrower than the component's whole context; for a combination, it is the whole context except the cluster.
    `other_artifacts` are further files that the environment names. `component` and `version` are those of a
    combination's record; if they are empty, the record has those of the campaign. `replaces` are records whose settings
    are included in this one.
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
        """Return a publication with the measurements and the gain of one comparison, and `more` fields."""
        measured = ("default", "tuned", "gain", "gain_low", "gain_high")
        return cls(**{name: getattr(comparison, name) for name in measured}, **more)


@dataclass(frozen=True)
class Published:
    """A record that is already in use, and the keys of all problems of its campaign (empty if they are unknown)."""

    record: Record
    problems: Sequence[str]


class Runner(Protocol):
    """A function that runs a plan to its end on the campaign's executor, e.g. to prove that settings are in effect."""

    def __call__(self, plan: TrialPlan) -> TrialOutput:
        """Run the plan. Raise TunerError if it cannot be run."""
        ...


@dataclass(frozen=True)
class TrialOutput:
    """Output of a run: exit status, standard output and standard error, seconds from start to end, and directory.

    The seconds are those of the measured part only, without time in the queue and `TrialPlan.before`.
    """

    exit_status: int
    stdout: str
    stderr: str
    elapsed_s: float
    directory: Path | None = None  # the trial's directory, if the executor has one


class Component(Protocol):
    """Interface that each kind of component implements, so that campaigns can tune it."""

    name: str
    version: str

    def context(self) -> Mapping[str, object]:
        """Return the conditions, besides the cluster, under which the measurements and the record are valid.

        A campaign is only resumed under the same conditions.
        """

    def problems(self) -> Sequence[Problem]:
        """Return the problems to tune, in order."""

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Return the plan of a trial that evaluates one parametrization of a problem."""

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Read the objective from a trial's output.

        Raise ObjectiveError if the output lacks the objective, and CampaignFailedError if the output shows that no
        trial can succeed.
        """

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Compile and publish the results, prove that they take effect, and return a publication for each record.

        The result is empty if nothing beats the default beyond noise.
        """


def size_of(component: Component, problems: Sequence[Problem]) -> dict[str, int]:
    """Return the nodes and tasks per node of a component's jobs, from the plan for its first problem's default."""
    if not problems:
        return {}
    plan = component.plan(problems[0].key, problems[0].default)
    return {"nodes": plan.nodes, "tasks_per_node": plan.tasks_per_node}


@runtime_checkable
class Reviewer(Protocol):
    """A component that can report anomalies in its measurements."""

    def review(self, defaults: Mapping[str, Measurement], comparisons: Sequence[Comparison]) -> Sequence[str]:
        """Return one line for each anomaly that an admin should examine.

        `defaults`: measurement of each problem's default before the search.
        """


@runtime_checkable
class RoundComponent(Component, Protocol):
    """A component that can evaluate the problems of one `round` in one run."""

    def plan_round(self, wanted: Sequence[Wanted]) -> TrialPlan:
        """Return the plan of one run that evaluates points of several problems of a round, one after the other."""


@runtime_checkable
class CurveComponent(Component, Protocol):
    """A component whose record keeps the measurements of all points, not only of the winner."""

    def publish_curve(self, trials: Sequence[Trial], comparisons: Sequence[Comparison]) -> Sequence[Publication]:
        """Publish the results of all trials of the campaign."""


@runtime_checkable
class MergingComponent(Component, Protocol):
    """A component with one record for the whole cluster; a new record must include the settings of the earlier one."""

    def check_earlier(self, earlier: Sequence[Published]) -> None:
        """Raise TunerError, before anything is run, if a new record could not include the records in use."""

    def publish_with(
        self, earlier: Sequence[Published], comparisons: Sequence[Comparison], run: Runner, artifacts: Path
    ) -> Sequence[Publication]:
        """Publish the results like `publish`, and include the contents of `earlier`, the records in use."""
