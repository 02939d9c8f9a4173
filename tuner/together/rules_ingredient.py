# SPDX-License-Identifier: Apache-2.0
"""Ingredient of joint tuning for Open MPI's collectives: an algorithm for each group of an application's calls.

Trials get a rules file, as jobs do later. A parameter's value is an algorithm's name, followed by a colon and the
segment size in bytes if the algorithm uses one. The built-in rules decide all other calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from reprise.config import Config, Section, first_problem
from reprise.matcher.decision.user_choices import chosen_names, conflict
from reprise.tuner.components.application import Workload
from reprise.tuner.components.user_script import sets
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Comparison, Publication, Runner, TrialOutput, TrialPlan
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.openmpi.algorithms import heeds, serves
from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.openmpi.rules.rules_model import Rules
from reprise.tuner.openmpi.rules_channel import CONFLICTS, PROBE, RULES_FILE, RulesChannel
from reprise.tuner.openmpi.rules_compiler import Row, Shape, compile_rules
from reprise.tuner.openmpi.rules_proof import prove
from reprise.tuner.together.ingredient import Ingredient

BUILT_IN = "built-in"
LARGEST = 2**30
"""Largest message size in rules, in bytes; a rule for this size also applies to larger messages."""
BY_NODE = "node"  # a job's placement, see `JobMetadata`; the default is "core"
PIECES = (0, 8192, 65536)
"""Segment sizes in bytes for algorithms that use them; 0: the whole message."""


class Calls(Section):
    """Calls of one collective on all ranks of the application, with sizes in bytes as benchmarks report them."""

    collective: str
    low: int = Field(0, ge=0, description="size of the smallest message in bytes")
    high: int = Field(ge=1, le=LARGEST, description="size of the largest message in bytes")

    @model_validator(mode="after")
    def _in_order(self) -> Calls:
        if self.collective not in CATALOGUE:
            raise ValueError(f"collective {self.collective!r} has no rules: leave it out")
        if self.low > self.high:
            raise ValueError(f"from {self.low} to {self.high} bytes is not a range: swap low and high")
        return self

    @property
    def one_rule(self) -> bool:
        """Whether a rules file can have only one rule for all sizes of the collective."""
        return CATALOGUE[self.collective].one_rule

    @property
    def axis(self) -> str:
        """Name of the parameter for these calls in a point."""
        return f"{self.collective}/{self.low}-{self.high}"


class Settings(Section):
    """Settings of an application's collectives in a campaign."""

    calls: list[Calls] = Field(min_length=1, description="calls that take most of the application's time in MPI")
    nodes: int = Field(ge=1)
    tasks_per_node: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _one_range_for_one_rule(self) -> Settings:
        single = [calls.collective for calls in self.calls if calls.one_rule]
        if twice := next((name for name in single if single.count(name) > 1), None):
            raise ValueError(f"{twice} has one rule for all sizes: specify one range")
        return self


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], workload: Workload, config: Config) -> Ingredient:
    """Return the ingredient for the installed Open MPI.

    Raise TunerError with a one-line message if the settings are invalid or the script prevents rules from taking
    effect.
    """
    try:
        checked = Settings.model_validate(settings)
    except ValidationError as error:
        raise TunerError(f"settings: components: {definition['name']}: {first_problem(error, Settings)}") from error
    channel = RulesChannel.installed(config)
    for name in channel.names:
        if sets(workload.script, name):
            raise TunerError(f"{workload.path}: sets {name} itself, which overrides a rules file: remove it")
    if chosen := conflict(CONFLICTS, chosen_names(workload.submission)):
        raise TunerError(f"{workload.path}: sets {chosen}, and jobs that set it get no rules file: remove it")
    probe = str(config.tuner.libexec / PROBE)
    by_node = checked.tasks_per_node > 1 and workload.job.placement == BY_NODE
    name, version, cluster = definition["name"], definition["version"], config.site.cluster
    return RulesIngredient(name, version, checked, channel, probe, cluster, BY_NODE if by_node else "")


class RulesIngredient:
    """Implementation of `Ingredient` for rules files."""

    def __init__(
        self,
        name: str,
        version: str,
        settings: Settings,
        channel: RulesChannel,
        probe: str,
        cluster: str,
        placement: str = "",
    ) -> None:
        """Create the ingredient; `placement` is set if the application's tasks are not placed in the default way."""
        self.name = name
        self.version = version
        self._calls = {calls.axis: calls for calls in settings.calls}
        self._nodes, self._tasks_per_node = settings.nodes, settings.tasks_per_node
        self._ranks = settings.nodes * settings.tasks_per_node
        self._channel = channel
        self._probe = probe
        self._cluster = cluster
        self._placement = placement
        self._ids: dict[str, dict[str, int]] = {
            axis: {name: number for number, name in channel.mpi.algorithms[calls.collective].items()}
            for axis, calls in self._calls.items()
        }
        self.space = Space([Parameter(axis, self._values(calls), "category") for axis, calls in self._calls.items()])
        self.names: Sequence[str] = channel.names
        self.conflicts: Sequence[str] = CONFLICTS
        self.proved = False  # since `publish` runs the probe, not the application
        self.default: Parametrization = dict.fromkeys(self._calls, BUILT_IN)

    def context(self) -> Mapping[str, object]:
        """Return the job size and the releases of Open MPI that the rules are valid for."""
        return {
            "nodes": self._nodes,
            "tasks_per_node": self._tasks_per_node,
            **({"placement": self._placement} if self._placement else {}),
            "openmpi": list(self._channel.releases),
        }

    def add(self, plan: TrialPlan, point: Parametrization) -> TrialPlan:
        """Return the plan with a rules file for a point."""
        files = self._channel.files(self._rules(point), ["trial"])
        given = self._channel.in_trial(files)
        return dataclasses.replace(plan, environment={**plan.environment, **given}, files={**plan.files, **files})

    def check(self, output: TrialOutput) -> None:
        """Accept every trial.

        No check is needed here: before anything is published, the proof in `publish` detects a rules file that Open MPI
        does not read.
        """

    def remarks(self) -> Sequence[str]:
        """Return no remarks."""
        return ()

    def publish(self, comparison: Comparison, run: Runner, artifacts: Path) -> Publication | None:
        """Prove that the winner's rules take effect, publish their file as an artifact, and return the publication."""
        rules = self._rules(comparison.winner)
        files = self._channel.files(rules, self._provenance())
        plan = TrialPlan(
            [self._probe],
            self._nodes,
            self._tasks_per_node,
            self._channel.in_proof(files),
            files,
            timeout_s=120.0,
            placement=self._placement,
        )
        proof = prove(rules, self._channel.form, files[RULES_FILE], self._ranks, plan, run, artifacts)
        delivery = self._channel.publish(files, artifacts)
        return Publication.of(
            comparison,
            parametrization={
                "parameters": dict(comparison.winner),
                "proof": {"calls": [str(call) for call in proof.calls], "launches": proof.launches},
                **delivery.digests,
            },
            environment=delivery.environment,
            conflicts=CONFLICTS,
            artifact=delivery.artifact,
            other_artifacts=delivery.other_artifacts,
        )

    def _values(self, calls: Calls) -> Sequence[str]:
        """Return the built-in rules and the algorithms that a rules file for jobs may name for these calls."""
        known, found = self._channel.mpi.algorithms[calls.collective], [BUILT_IN]
        for number in self._channel.safe(calls.collective):
            name = known[number]
            if serves(name, self._ranks):
                segments, _ = heeds(calls.collective, name)
                pieces = [size for size in PIECES if size < calls.high] if segments else [0]
                found += [f"{name}:{size}" if size else name for size in pieces]
        return found

    def _rules(self, point: Parametrization) -> Rules:
        """Return the rules of a point, limited to the sizes that the application sends."""
        rows: dict[str, list[Row]] = {}
        for axis, calls in self._calls.items():
            name, _, segment = str(point[axis]).partition(":")
            number = 0 if name == BUILT_IN else self._ids[axis][name]
            if calls.one_rule:
                rows[calls.collective] = [Row(0, number)]
                continue
            unit = 4 if CATALOGUE[calls.collective].sums else 1
            own = rows.setdefault(calls.collective, [])
            # If the previous range ends at `low`, remove the row that ends it.
            own[:] = [row for row in own if row.size != calls.low]
            own += [Row(calls.low, number, 0, int(segment or 0)), Row(calls.high // unit * unit + unit, 0)]
        return compile_rules({name: {Shape(self._ranks): found} for name, found in rows.items()}, self._channel.mpi)

    def _provenance(self) -> list[str]:
        size = f"{self._nodes} nodes, {self._tasks_per_node} tasks on each"
        placed = f", placed by {self._placement}" if self._placement else ""
        return [
            f"Open MPI rules file, made by Reprise ({self.name} {self.version})",
            f"for {self._cluster}: one application on {size}{placed}",
            f"for Open MPI {', '.join(self._channel.releases)}; proved with {self._channel.mpi.version}",
        ]
