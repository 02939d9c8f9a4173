# SPDX-License-Identifier: Apache-2.0
"""Open MPI's collectives as a tunable component: what is measured, through which channel, and what is published.

A trial gets its parametrization through a rules file, as jobs do later: the variables that force an algorithm pass the
fan-out differently, so that they would measure something else. The default is measured without file and switch.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprise.config import Config
from tuner import artifacts
from tuner.collectives import settings as campaign_settings
from tuner.collectives.algorithms import is_unsafe
from tuner.collectives.benchmarks import Call, installed, rounds
from tuner.collectives.build import OpenMPIBuild, describe
from tuner.collectives.catalogue import CATALOGUE, takes_data
from tuner.collectives.compiler import Row, Shape, compile_rules
from tuner.collectives.evidence import combined_gain, combined_measurement
from tuner.collectives.proof import Proof, prove
from tuner.collectives.rules.releases import family_of
from tuner.collectives.rules.writing import form_for, write
from tuner.collectives.settings import Settings
from tuner.collectives.spaces import DEFAULT, space
from tuner.component import Comparison, Component, Problem, Publication, Runner, Sample, TrialOutput, TrialPlan, Wanted
from tuner.errors import ObjectiveError, TunerError
from tuner.space import Parametrization

PROBE = "reprise-rulesprobe"
RULES_FILE = "rules.conf"
KIND = "openmpi-rules"

# A job whose user set one of these made a choice of its own, perhaps in a parameter file.
CONFLICTS = (
    "OMPI_MCA_coll",
    "OMPI_MCA_coll_tuned_*",
    "OMPI_MCA_coll_han_*",
    "OMPI_MCA_coll_hcoll_*",
    "OMPI_MCA_coll_ucc_*",
    "OMPI_MCA_mca_base_*",
)


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> Component:
    """The component for a campaign's settings, on the installed Open MPI. Raises TunerError with one line."""
    checked = campaign_settings.read(definition.get("defaults", {}), settings)
    mpi = describe(config.openmpi.ompi_info)
    check_releases(mpi, config.openmpi.releases)
    return CollectivesComponent(definition["name"], definition["version"], checked, mpi, config)


def check_releases(mpi: OpenMPIBuild, releases: Sequence[str]) -> None:
    """Raise TunerError where no file could be published: before a campaign, not after it.

    A gain that was measured with one series of releases says nothing of another, whose built-in choices differ; within
    a series all releases must read the file alike, which is proved for the installed one.
    """
    installed = family_of(mpi.version)
    if installed.json:
        raise TunerError(
            f"Open MPI {mpi.version}: there is no way to prove that a rules file is in effect in 6 and later: set "
            "openmpi.ompi_info to a 4.1 or 5.0 that jobs use"
        )
    for release in releases:
        if family_of(release).series != installed.series:
            raise TunerError(
                f"openmpi.releases: jobs may load {release}, of which a gain measured with {mpi.version} says nothing, "
                "so that no file could be published: remove that release if jobs no longer load it"
            )


class CollectivesComponent:
    """The `Component` of this package."""

    def __init__(self, name: str, version: str, settings: Settings, mpi: OpenMPIBuild, config: Config) -> None:
        self.name = name
        self.version = version
        self.settings = settings
        self.mpi = mpi
        self.config = config
        self.releases = tuple(dict.fromkeys((mpi.version, *config.openmpi.releases)))
        self.form = form_for([family_of(release) for release in self.releases])
        for collective in settings.collectives:
            if collective not in CATALOGUE or collective not in mpi.algorithms:
                known = ", ".join(name for name in CATALOGUE if name in mpi.algorithms)
                raise TunerError(f"settings: collectives: {collective!r} cannot be tuned: known are {known}")
            if not settings.unsafe and not self._safe(collective):
                raise TunerError(
                    f"settings: collectives: a rules file for {collective} would give jobs wrong results: leave it "
                    "out, or set `unsafe` to measure it only"
                )
            odd = [size for size in settings.sizes if CATALOGUE[collective].sums and size % 4]
            if odd:
                raise TunerError(
                    f"settings: sizes: {collective} sums 4-byte floats and cannot have {odd[0]}: use multiples of 4"
                )
        if settings.tasks < 2:
            raise TunerError("settings: nodes: one task has nobody to talk to: use 2 tasks or more in all")
        self.benchmark = installed(settings, config)
        self._problems = {
            problem.key: (problem, collective, size) for problem, collective, size in self._all_problems()
        }

    def context(self) -> Mapping[str, object]:
        s = self.settings
        return {"nodes": s.nodes, "tasks_per_node": s.tasks_per_node, "openmpi": list(self.releases)}

    def problems(self) -> Sequence[Problem]:
        return [problem for problem, _, _ in self._problems.values()]

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        return self.plan_round([Wanted(problem, parametrization)])

    def plan_round(self, wanted: Sequence[Wanted]) -> TrialPlan:
        """One run of the benchmark, with one rules file in which each size has the rule that is wanted for it."""
        timeout_s = self.settings.timeout_s + 2 * self.settings.max_seconds * (len(wanted) - 1)
        rows: dict[str, list[Row]] = {}
        calls = []
        for one in wanted:
            _, collective, size = self._problems[one.problem]
            calls.append(Call(collective, size, one.most))
            rows.setdefault(collective, []).append(_row(size, one.point))
        command = self.benchmark.command(calls, self.settings.tasks)
        if all(one.point["algorithm"] == DEFAULT["algorithm"] for one in wanted):
            return self._launch(command.argv, {}, command.files, timeout_s)
        shape = Shape(self.settings.tasks)
        ordered = {name: {shape: sorted(found, key=lambda row: row.size)} for name, found in rows.items()}
        text = write(compile_rules(ordered, self.mpi), self.form, [f"trial of {_names(wanted)}"], self.mpi.algorithms)
        files = {**command.files, RULES_FILE: text}
        return self._launch(command.argv, self._environment(f"{{directory}}/{RULES_FILE}"), files, timeout_s)

    def read(self, problem: str, output: TrialOutput) -> Sample:
        _, collective, size = self._problems[problem]
        found = self.benchmark.times(output.stdout, Call(collective, size), self.settings.tasks)
        if len(found) != 1:
            words = (output.stderr.strip().splitlines() or ["nothing on standard error"])[0]
            raise ObjectiveError(
                f"{problem}: the output holds {len(found) or 'no'} {'times' if found else 'time'} of {collective} at "
                f"{size} bytes among {self.settings.tasks} tasks (exit {output.exit_status}: {words}): run the "
                "trial's script by hand"
            )
        (sample,) = found
        if not math.isfinite(sample.value) or sample.value <= 0:
            raise ObjectiveError(
                f"{problem}: the benchmark measured {sample.value} s, which is no time: run it by hand"
            )
        return sample

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts_directory: Path) -> Publication | None:
        kept = [c for c in comparisons if self._is_good(c)]
        if not kept:
            return None
        winners = {comparison.problem: comparison.winner for comparison in kept}
        rows: dict[str, list[Row]] = {}
        for problem, collective, size in self._problems.values():
            # What has no winner must be there too: it ends the rule of the size below.
            rows.setdefault(collective, []).append(_row(size, winners.get(problem.key, problem.default)))
        shape = Shape(self.settings.tasks)
        rules = compile_rules({name: {shape: found} for name, found in rows.items()}, self.mpi)
        text = write(rules, self.form, self._provenance(), self.mpi.algorithms)
        probe = self._launch([str(self.config.tuner.libexec / PROBE)], self._environment("{rules}"), {})
        proof = prove(rules, self.form, text, self.settings.tasks, probe, run, artifacts_directory)
        artifact = artifacts.publish(artifacts_directory, text, KIND, ".conf")
        gain, low, high = combined_gain(kept)
        return Publication(
            parametrization=self._parametrization(comparisons, kept, proof),
            environment=self._environment(artifact.path),
            conflicts=CONFLICTS,
            default=combined_measurement([c.default for c in kept]),
            tuned=combined_measurement([c.tuned for c in kept]),
            gain=gain,
            gain_low=low,
            gain_high=high,
            artifact=artifact,
        )

    def _all_problems(self) -> list[tuple[Problem, str, int]]:
        """One problem per collective and size; a barrier has no size."""
        found: list[tuple[Problem, str, int]] = []
        for collective in self.settings.collectives:
            for size in sorted(self.settings.sizes) if takes_data(collective) else [0]:
                grid = space(
                    collective,
                    size,
                    self.settings.tasks,
                    self.mpi,
                    self.settings.segments,
                    self.settings.fanouts,
                    self.settings.unsafe,
                )
                one = Problem(f"{collective}/{size}", grid, DEFAULT)
                found.append((one, collective, size))
        if not self.settings.together:
            return found
        runs = rounds(self.benchmark, [Call(collective, size) for _, collective, size in found])
        return [
            (replace(one, round=run, family=collective, context={"size": max(size, 1)}), collective, size)
            for run, (one, collective, size) in zip(runs, found, strict=True)
        ]

    def _launch(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        files: Mapping[str, str],
        timeout_s: float | None = None,
    ) -> TrialPlan:
        s = self.settings
        return TrialPlan(argv, s.nodes, s.tasks_per_node, environment, files, timeout_s or s.timeout_s)

    def _environment(self, path: str) -> dict[str, str]:
        """What makes a rules file take effect. From 5.0 on, han would hide tuned."""
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
        }
        if self.mpi.priorities.get("han", 0) >= self.mpi.priorities.get("tuned", 30):
            environment["OMPI_MCA_coll_han_priority"] = "0"
        return environment

    def _is_good(self, comparison: Comparison) -> bool:
        """Better than the default beyond noise, and right for every job."""
        _, collective, _ = self._problems[comparison.problem]
        return comparison.gain_low > 0 and int(comparison.winner["algorithm"]) in self._safe(collective)

    def _safe(self, collective: str) -> Collection[int]:
        """The algorithms of this build that a file for jobs may name, without 0."""
        names = self.mpi.algorithms[collective]
        return [i for i, name in names.items() if i != DEFAULT["algorithm"] and not is_unsafe(collective, name)]

    def _provenance(self) -> list[str]:
        s = self.settings
        return [
            f"Open MPI rules file, made by Reprise ({self.name} {self.version})",
            f"for {self.config.site.cluster}: {_count(s.nodes, 'node')}, {_count(s.tasks_per_node, 'task')} on each",
            f"for Open MPI {', '.join(self.releases)}; proved with {self.mpi.version}",
        ]

    def _parametrization(
        self, comparisons: Sequence[Comparison], kept: Sequence[Comparison], proof: Proof
    ) -> dict[str, object]:
        """The table, why each choice is in it, and the proof."""
        table = []
        for comparison in comparisons:
            problem, collective, _ = self._problems[comparison.problem]
            chosen = comparison.winner if comparison in kept else problem.default
            table.append(
                {
                    "problem": comparison.problem,
                    **chosen,
                    "algorithm_name": self.mpi.algorithms[collective][int(chosen["algorithm"])],
                    "applied": comparison in kept,
                    "default_s": comparison.default.mean,
                    "tuned_s": comparison.tuned.mean,
                    "gain": comparison.gain,
                    "gain_low": comparison.gain_low,
                    "gain_high": comparison.gain_high,
                }
            )
        return {
            "rules": table,
            "proof": {"calls": [str(call) for call in proof.calls], "launches": proof.launches},
        }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _names(wanted: Sequence[Wanted]) -> str:
    first, more = wanted[0].problem, len(wanted) - 1
    return f"{first} and {more} more" if more else first


def _row(size: int, parametrization: Parametrization) -> Row:
    return Row(size, int(parametrization["algorithm"]), int(parametrization["fanout"]), int(parametrization["segment"]))
