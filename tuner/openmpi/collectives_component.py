# SPDX-License-Identifier: Apache-2.0
"""Open MPI's collectives as a tunable component: how they are measured, and how tuned settings are published.

A trial gets its parametrization through a rules file, as jobs do later. Open MPI's variables that force an algorithm
are not used, since they pass the fan-out differently, so that a trial would not measure what jobs get. The default is
measured without a rules file and without the variables that enable rules files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database.entities import Measurement
from reprise.database.gain_subject import RULES
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import (
    Comparison,
    Component,
    Problem,
    Publication,
    Published,
    Runner,
    Sample,
    TrialOutput,
    TrialPlan,
    Wanted,
)
from reprise.tuner.model.space import Parametrization
from reprise.tuner.openmpi import collectives_settings as campaign_settings
from reprise.tuner.openmpi.benchmarks import Call, installed, rounds
from reprise.tuner.openmpi.catalogue import CATALOGUE, takes_data
from reprise.tuner.openmpi.collective_spaces import DEFAULT, in_bytes, space
from reprise.tuner.openmpi.collectives_settings import Layout, Settings
from reprise.tuner.openmpi.guidelines import violations
from reprise.tuner.openmpi.installed_build import OpenMPIBuild
from reprise.tuner.openmpi.rules_channel import CONFLICTS, PROBE, RULES_FILE, RulesChannel
from reprise.tuner.openmpi.rules_compiler import Row, Shape, compile_rules
from reprise.tuner.openmpi.rules_gain import combined_gain, combined_measurement
from reprise.tuner.openmpi.rules_merge import MEASURED, RECORD, Standing, comparison_of, merge, place_of, standing
from reprise.tuner.openmpi.rules_proof import Proof, prove


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> Component:
    """Return the component for a campaign's settings and the installed Open MPI.

    Raise TunerError with one line if the settings are invalid.
    """
    checked = campaign_settings.read(definition.get("defaults", {}), settings)
    mpi = RulesChannel.installed(config).mpi
    return CollectivesComponent(definition["name"], definition["version"], checked, mpi, config)


@dataclass(frozen=True)
class Cell:
    """A tuning problem with its collective, message size (in bytes, as benchmarks report it) and layout."""

    problem: Problem
    collective: str
    size: int
    layout: Layout


class CollectivesComponent:
    """Implementation of `Component` for Open MPI's collectives."""

    def __init__(self, name: str, version: str, settings: Settings, mpi: OpenMPIBuild, config: Config) -> None:
        self.name = name
        self.version = version
        self.settings = settings
        self.mpi = mpi
        self.channel = RulesChannel.of(mpi, config.openmpi.releases)
        self.config = config
        for collective in settings.collectives:
            if collective not in CATALOGUE or collective not in mpi.algorithms:
                known = ", ".join(name for name in CATALOGUE if name in mpi.algorithms)
                raise TunerError(f"settings: collectives: {collective!r} cannot be tuned: choose from {known}")
            if not settings.unsafe and not self.channel.safe(collective):
                raise TunerError(
                    f"settings: collectives: a rules file for {collective} would give jobs wrong results: leave it "
                    "out, or set `unsafe` to only measure it"
                )
            odd = [size for size in settings.sizes if CATALOGUE[collective].sums and size % 4]
            if odd:
                raise TunerError(
                    f"settings: sizes: {collective} sums 4-byte floats, so {odd[0]} is invalid: use multiples of 4"
                )
        if not settings.layouts:
            raise TunerError("settings: nodes: one task cannot communicate: use 2 tasks or more in total")
        self.benchmark = installed(settings, config)
        self._cells = {cell.problem.key: cell for layout in settings.layouts for cell in self._of(layout)}

    def context(self) -> Mapping[str, object]:
        """Return the layouts and releases that the results are valid for."""
        s = self.settings
        several = {"nodes": s.nodes, "tasks_per_node": s.tasks_per_node}
        counts = {name: given[0] if len(given) == 1 else list(given) for name, given in several.items()}
        return {**counts, **self._placement(s.layouts), "openmpi": list(self.channel.releases)}

    def problems(self) -> Sequence[Problem]:
        """Return a problem for each collective, size and layout."""
        return [cell.problem for cell in self._cells.values()]

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Plan a trial of one problem."""
        return self.plan_round([Wanted(problem, parametrization)])

    def plan_round(self, wanted: Sequence[Wanted]) -> TrialPlan:
        """Plan one run of the benchmark, with one rules file that has the wanted choice for each collective and size.

        All problems in `wanted` must have the same layout.
        """
        layout = self._cells[wanted[0].problem].layout
        timeout_s = self.settings.timeout_s + 2 * self.settings.max_seconds * (len(wanted) - 1)
        rows: dict[str, list[Row]] = {}
        calls = []
        for one in wanted:
            cell = self._cells[one.problem]
            calls.append(Call(cell.collective, cell.size, one.most))
            rows.setdefault(cell.collective, []).append(_row(cell.size, one.point))
        command = self.benchmark.command(calls, layout.tasks)
        if all(one.point["algorithm"] == DEFAULT["algorithm"] for one in wanted):
            return self._launch(layout, command.argv, {}, command.files, timeout_s)
        shape = Shape(layout.tasks)
        ordered = {name: {shape: sorted(found, key=lambda row: row.size)} for name, found in rows.items()}
        files = self.channel.files(compile_rules(ordered, self.mpi), [f"trial of {_names(wanted)}"])
        given = self.channel.in_trial(files)
        return self._launch(layout, command.argv, given, {**command.files, **files}, timeout_s)

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Return the sample of a problem from a benchmark's output.

        Raise ObjectiveError unless the output has exactly one valid time.
        """
        cell = self._cells[problem]
        tasks = cell.layout.tasks
        found = self.benchmark.times(output.stdout, Call(cell.collective, cell.size), tasks)
        if len(found) != 1:
            words = (output.stderr.strip().splitlines() or ["nothing on standard error"])[0]
            raise ObjectiveError(
                f"{problem}: the output has {len(found) or 'no'} {'times' if found else 'time'} of {cell.collective} "
                f"at {cell.size} bytes on {tasks} tasks (exit {output.exit_status}: {words}): run the trial's "
                "script by hand"
            )
        (sample,) = found
        if not math.isfinite(sample.value) or sample.value <= 0:
            raise ObjectiveError(
                f"{problem}: the benchmark measured {sample.value} s, which is not a valid time: run it by hand"
            )
        return sample

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Publish rules files without the rules of earlier campaigns."""
        return self.publish_with((), comparisons, run, artifacts)

    def check_earlier(self, earlier: Sequence[Published]) -> None:
        """Raise TunerError if an earlier campaign's rules cannot be copied into the new rules files."""
        for layout in self.settings.layouts:
            self._standing(layout, earlier)

    def publish_with(
        self, earlier: Sequence[Published], comparisons: Sequence[Comparison], run: Runner, artifacts: Path
    ) -> Sequence[Publication]:
        """Return, for each layout that has winners to publish, a publication with a rules file.

        Layouts need separate files, since communicators with equal numbers of ranks may be spread differently over the
        nodes. Each file includes the rules that jobs of its layout already get.
        """
        of_layouts = (
            (layout, [one for one in comparisons if self._cells[one.problem].layout == layout])
            for layout in self.settings.layouts
        )
        found = (
            self._publication(layout, some, self._standing(layout, earlier), run, artifacts)
            for layout, some in of_layouts
        )
        return [one for one in found if one]

    def review(self, defaults: Mapping[str, Measurement], comparisons: Sequence[Comparison]) -> Sequence[str]:
        """Return, as text, the performance guidelines that the settings for jobs still violate.

        A problem without a published rule keeps its default.
        """
        kept = self._kept(comparisons)
        known = {**defaults, **{one.problem: one.tuned if one in kept else one.default for one in comparisons}}
        remarks = []
        for layout in self.settings.layouts:
            times = {
                (cell.collective, layout.tasks, cell.size): (found.mean, found.low, found.high)
                for key, cell in self._cells.items()
                if cell.layout == layout and takes_data(cell.collective) and (found := known.get(key))
            }
            where = f"{layout}: " if len(self.settings.layouts) > 1 else ""
            remarks += [f"{where}performance guideline {violation}" for violation in violations(times)]
        return remarks

    def _kept(self, comparisons: Sequence[Comparison]) -> list[Comparison]:
        """Return the comparisons whose winners are published as rules for jobs.

        These winners are safe, and better than the default beyond noise. If a collective has one rule for all sizes,
        its winners are published only if the same algorithm wins at every size.
        """
        good = [one for one in comparisons if self._is_good(one)]
        chosen: dict[tuple[Layout, str], set[int]] = {}
        for cell in self._cells.values():
            winners = [int(one.winner["algorithm"]) for one in good if one.problem == cell.problem.key]
            chosen.setdefault((cell.layout, cell.collective), set()).update(winners or [0])
        cells = {one.problem: self._cells[one.problem] for one in good}
        return [
            one
            for one in good
            if not CATALOGUE[cells[one.problem].collective].one_rule
            or len(chosen[cells[one.problem].layout, cells[one.problem].collective]) == 1
        ]

    def _standing(self, layout: Layout, earlier: Sequence[Published]) -> Sequence[Standing]:
        """Return the rules that jobs of a layout already get."""

        def known(collective: str, algorithm: int, name: str) -> bool:
            names = self.mpi.algorithms.get(collective, {})
            return names.get(algorithm) == name and algorithm in self.channel.safe(collective)

        given = self.config.openmpi.releases or [self.mpi.version]
        return standing(
            earlier, place_of({**self._context_of(layout), "cluster": self.config.site.cluster}), given, known
        )

    def _publication(
        self,
        layout: Layout,
        comparisons: Sequence[Comparison],
        earlier: Sequence[Standing],
        run: Runner,
        artifacts_directory: Path,
    ) -> Publication | None:
        kept = self._kept(comparisons)
        if not kept:
            return None
        winners = {comparison.problem: comparison.winner for comparison in kept}
        rows: dict[str, list[Row]] = {}
        for cell in self._cells.values():
            if cell.layout == layout:
                # Sizes without a winner are included, since the rule of the next smaller size must end at each of them.
                chosen = winners.get(cell.problem.key, cell.problem.default)
                one_rule = CATALOGUE[cell.collective].one_rule
                if not (one_rule and cell.collective in rows):
                    rows.setdefault(cell.collective, []).append(_row(0 if one_rule else cell.size, chosen))
        merged = merge(rows, self._table(comparisons, kept), earlier, layout.tasks)
        taken_over = [one.record.id for one in earlier]
        measured = [*kept, *(comparison_of(row) for row in merged.table if RECORD in row)]
        shape = Shape(layout.tasks)
        rules = compile_rules({name: {shape: found} for name, found in merged.rows.items()}, self.mpi)
        files = self.channel.files(rules, self._provenance(layout, taken_over))
        program = str(self.config.tuner.libexec / PROBE)
        probe = self._launch(layout, [program], self.channel.in_proof(files), files)
        proof = prove(rules, self.channel.form, files[RULES_FILE], layout.tasks, probe, run, artifacts_directory)
        delivery = self.channel.publish(files, artifacts_directory)
        gain, low, high = combined_gain(measured)
        return Publication(
            parametrization={
                RULES: merged.table,
                MEASURED: merged.sizes,
                "proof": _proof(proof),
                **delivery.digests,
            },
            environment=delivery.environment,
            conflicts=CONFLICTS,
            default=combined_measurement([c.default for c in measured]),
            tuned=combined_measurement([c.tuned for c in measured]),
            gain=gain,
            gain_low=low,
            gain_high=high,
            artifact=delivery.artifact,
            note=_taken_over(taken_over),
            context=self._context_of(layout, earlier),
            replaces=taken_over,
            other_artifacts=delivery.other_artifacts,
        )

    def _context_of(self, layout: Layout, earlier: Sequence[Standing] = ()) -> dict[str, object]:
        """Return the context of a layout's record.

        If the file includes rules of earlier records, the context names only releases for which those records are
        valid, too.
        """
        found: dict[str, object] = {"nodes": layout.nodes, "tasks_per_node": layout.tasks_per_node}
        if earlier:
            known = [one.record.context["openmpi"] for one in earlier]
            found["openmpi"] = [one for one in self.channel.releases if all(one in of for of in known)]
        return {**found, **self._placement([layout])}

    def _of(self, layout: Layout) -> list[Cell]:
        """Return a layout's cells: one for each collective and size, and one for a barrier, which has no size."""
        several = len(self.settings.layouts) > 1
        found: list[Cell] = []
        for collective in self.settings.collectives:
            for size in sorted(self.settings.sizes) if takes_data(collective) else [0]:
                grid = space(
                    collective,
                    size,
                    layout.tasks,
                    self.mpi,
                    self.settings.segments,
                    self.settings.fanouts,
                    self.settings.unsafe,
                )
                key = f"{layout}/{collective}/{size}" if several else f"{collective}/{size}"
                found.append(Cell(Problem(key, grid, DEFAULT), collective, size, layout))
        if not self.settings.together:
            return found
        runs = rounds(self.benchmark, [Call(cell.collective, cell.size) for cell in found])
        return [self._shared(cell, f"{layout}/{run}") for run, cell in zip(runs, found, strict=True)]

    @staticmethod
    def _shared(cell: Cell, run: str) -> Cell:
        """Return the cell, with its problem in the round `run` and in the family of its collective.

        The problems of a round share a run of the benchmark, and those of a family share a model.
        """
        layout = cell.layout
        context = {"size": max(cell.size, 1), "nodes": layout.nodes, "tasks_per_node": layout.tasks_per_node}
        common = partial(in_bytes, cell.size)
        return replace(
            cell, problem=replace(cell.problem, round=run, family=cell.collective, context=context, common=common)
        )

    def _launch(
        self,
        layout: Layout,
        argv: Sequence[str],
        environment: Mapping[str, str],
        files: Mapping[str, str],
        timeout_s: float | None = None,
    ) -> TrialPlan:
        placement = self.settings.placement if layout.tasks_per_node > 1 else ""
        return TrialPlan(
            argv,
            layout.nodes,
            layout.tasks_per_node,
            environment,
            files,
            timeout_s or self.settings.timeout_s,
            placement=placement,
        )

    def _placement(self, layouts: Sequence[Layout]) -> Mapping[str, str]:
        """Return the placement, or nothing if it is the default or if no layout has several tasks per node."""
        chosen = self.settings.placement
        return {"placement": chosen} if chosen != "core" and any(one.tasks_per_node > 1 for one in layouts) else {}

    def _is_good(self, comparison: Comparison) -> bool:
        """Return whether a comparison's winner is better than the default beyond noise, and safe for every job."""
        collective = self._cells[comparison.problem].collective
        return comparison.gain_low > 0 and int(comparison.winner["algorithm"]) in self.channel.safe(collective)

    def _provenance(self, layout: Layout, earlier: Sequence[int]) -> list[str]:
        counts = f"{_count(layout.nodes, 'node')}, {_count(layout.tasks_per_node, 'task')} on each"
        placed = ", placed by node" if self._placement([layout]) else ""
        return [
            f"Open MPI rules file, made by Reprise ({self.name} {self.version})",
            f"for {self.config.site.cluster}: {counts}{placed}",
            f"for Open MPI {', '.join(self.channel.releases)}; proved with {self.mpi.version}",
            *([_taken_over(earlier)] if earlier else []),
        ]

    def _table(self, comparisons: Sequence[Comparison], kept: Sequence[Comparison]) -> list[dict[str, Any]]:
        """Return one row for each comparison: the choice, whether the rules file applies it, and the measurements."""
        table = []
        for comparison in comparisons:
            cell = self._cells[comparison.problem]
            chosen = comparison.winner if comparison in kept else cell.problem.default
            table.append(
                {
                    "problem": comparison.problem,
                    **chosen,
                    "algorithm_name": self.mpi.algorithms[cell.collective][int(chosen["algorithm"])],
                    "applied": comparison in kept,
                    "default_s": comparison.default.mean,
                    "tuned_s": comparison.tuned.mean,
                    "gain": comparison.gain,
                    "gain_low": comparison.gain_low,
                    "gain_high": comparison.gain_high,
                    "default": asdict(comparison.default),
                    "tuned": asdict(comparison.tuned),
                }
            )
        return table


def _proof(proof: Proof) -> dict[str, object]:
    return {"calls": [str(call) for call in proof.calls], "launches": proof.launches}


def _taken_over(records: Sequence[int]) -> str:
    """Return a remark that names the earlier records whose rules are in the file, or an empty string."""
    named = " and ".join(f"record {number}" for number in records)
    return f"with the rules of {named}" if records else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _names(wanted: Sequence[Wanted]) -> str:
    first, more = wanted[0].problem, len(wanted) - 1
    return f"{first} and {more} more" if more else first


def _row(size: int, parametrization: Parametrization) -> Row:
    return Row(size, int(parametrization["algorithm"]), int(parametrization["fanout"]), int(parametrization["segment"]))
