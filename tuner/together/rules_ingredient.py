# SPDX-License-Identifier: Apache-2.0
"""Open MPI's collectives among other components: for the calls that an application makes, the algorithm of each.

Trials get a rules file, as jobs do later. A value is an algorithm's name, with the bytes that it sends at a time behind
a colon where it heeds them; what it does not say is the built-in rules' to decide.
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
from reprise.tuner.model import artifacts as artifact_files
from reprise.tuner.model.component import Comparison, Publication, Runner, TrialOutput, TrialPlan
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.openmpi.algorithms import heeds, serves
from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.openmpi.rules.rules_model import Rules
from reprise.tuner.openmpi.rules_channel import CONFLICTS, KIND, PROBE, RULES_FILE, RulesChannel
from reprise.tuner.openmpi.rules_compiler import Row, Shape, compile_rules
from reprise.tuner.openmpi.rules_proof import prove
from reprise.tuner.together.ingredient import Ingredient

BUILT_IN = "built-in"
LARGEST = 2**30
"""Bytes of a message; rules for it hold for larger ones, too."""
BY_NODE = "node"  # a job's placement, see `JobMetadata`; what is not said is "core"
PIECES = (0, 8192, 65536)
"""Bytes that are sent at a time, of algorithms that heed them; 0: the whole message."""


class Calls(Section):
    """Calls of one collective on all ranks of the application, sizes in bytes as benchmarks state them."""

    collective: str
    low: int = Field(0, ge=0, description="the smallest message")
    high: int = Field(ge=1, le=LARGEST, description="the largest message")

    @model_validator(mode="after")
    def _in_order(self) -> Calls:
        if self.collective not in CATALOGUE:
            raise ValueError(f"collective {self.collective!r} has no rules: leave it out")
        if self.low > self.high:
            raise ValueError(f"from {self.low} to {self.high} bytes is no range: exchange low and high")
        return self

    @property
    def one_rule(self) -> bool:
        """Whether a file has one rule for all sizes."""
        return CATALOGUE[self.collective].one_rule

    @property
    def axis(self) -> str:
        """Their name in a point."""
        return f"{self.collective}/{self.low}-{self.high}"


class Settings(Section):
    """What a campaign says of an application's collectives."""

    calls: list[Calls] = Field(min_length=1, description="what the application spends its time in")
    nodes: int = Field(ge=1)
    tasks_per_node: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _one_range_for_one_rule(self) -> Settings:
        single = [calls.collective for calls in self.calls if calls.one_rule]
        if twice := next((name for name in single if single.count(name) > 1), None):
            raise ValueError(f"{twice} has one rule for all sizes: give one range of them")
        return self


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], workload: Workload, config: Config) -> Ingredient:
    """The ingredient, on the installed Open MPI. Raises TunerError with one line."""
    try:
        checked = Settings.model_validate(settings)
    except ValidationError as error:
        raise TunerError(f"settings: components: {definition['name']}: {first_problem(error, Settings)}") from error
    channel = RulesChannel.installed(config)
    for name in channel.environment(""):
        if sets(workload.script, name):
            raise TunerError(f"{workload.path}: sets {name} itself, which goes before a rules file: remove it")
    if chosen := conflict(CONFLICTS, chosen_names(workload.submission)):
        raise TunerError(f"{workload.path}: sets {chosen}, and a job that does is given no rules file: remove that")
    probe = str(config.tuner.libexec / PROBE)
    by_node = checked.tasks_per_node > 1 and workload.job.placement == BY_NODE
    name, version, cluster = definition["name"], definition["version"], config.site.cluster
    return RulesIngredient(name, version, checked, channel, probe, cluster, BY_NODE if by_node else "")


class RulesIngredient:
    """The `Ingredient` of this package."""

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
        """`placement`: of the application's tasks, where that is another than jobs have that do not say it."""
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
        self.names: Sequence[str] = list(channel.environment(""))
        self.conflicts: Sequence[str] = CONFLICTS
        self.proved = False  # by a benchmark, not by the application
        self.default: Parametrization = dict.fromkeys(self._calls, BUILT_IN)

    def context(self) -> Mapping[str, object]:
        return {
            "nodes": self._nodes,
            "tasks_per_node": self._tasks_per_node,
            **({"placement": self._placement} if self._placement else {}),
            "openmpi": list(self._channel.releases),
        }

    def add(self, plan: TrialPlan, point: Parametrization) -> TrialPlan:
        given = self._channel.environment(f"{{directory}}/{RULES_FILE}")
        text = self._channel.text(self._rules(point), ["trial"])
        return dataclasses.replace(
            plan, environment={**plan.environment, **given}, files={**plan.files, RULES_FILE: text}
        )

    def check(self, output: TrialOutput) -> None:
        """A file that Open MPI does not read is found by the proof, before anything is published."""

    def remarks(self) -> Sequence[str]:
        return ()

    def publish(self, comparison: Comparison, run: Runner, artifacts: Path) -> Publication | None:
        rules = self._rules(comparison.winner)
        text = self._channel.text(rules, self._provenance())
        plan = TrialPlan(
            [self._probe],
            self._nodes,
            self._tasks_per_node,
            self._channel.environment("{rules}"),
            timeout_s=120.0,
            placement=self._placement,
        )
        proof = prove(rules, self._channel.form, text, self._ranks, plan, run, artifacts)
        artifact = artifact_files.publish(artifacts, text, KIND, ".conf")
        return Publication.of(
            comparison,
            parametrization={
                "parameters": dict(comparison.winner),
                "proof": {"calls": [str(call) for call in proof.calls], "launches": proof.launches},
            },
            environment=self._channel.environment(artifact.path),
            conflicts=CONFLICTS,
            artifact=artifact,
        )

    def _values(self, calls: Calls) -> Sequence[str]:
        """The built-in rules, and what a file for jobs may say for these calls."""
        known, found = self._channel.mpi.algorithms[calls.collective], [BUILT_IN]
        for number in self._channel.safe(calls.collective):
            name = known[number]
            if serves(name, self._ranks):
                segments, _ = heeds(calls.collective, name)
                pieces = [size for size in PIECES if size < calls.high] if segments else [0]
                found += [f"{name}:{size}" if size else name for size in pieces]
        return found

    def _rules(self, point: Parametrization) -> Rules:
        """What a file says of a point: nothing beyond the sizes that the application sends."""
        rows: dict[str, list[Row]] = {}
        for axis, calls in self._calls.items():
            name, _, segment = str(point[axis]).partition(":")
            number = 0 if name == BUILT_IN else self._ids[axis][name]
            if calls.one_rule:
                rows[calls.collective] = [Row(0, number)]
                continue
            unit = 4 if CATALOGUE[calls.collective].sums else 1
            own = rows.setdefault(calls.collective, [])
            own[:] = [row for row in own if row.size != calls.low]  # the end of the range below
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
