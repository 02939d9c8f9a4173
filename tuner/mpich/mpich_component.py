# SPDX-License-Identifier: Apache-2.0
"""MPICH's collectives as a tunable component: how they are measured, and how tuned settings are published.

A trial gets its parametrization through a selection file, as jobs do later. The default is measured without a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database.entities import Measurement
from reprise.database.gain_subject import RULES
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model import artifacts
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
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.mpich import mpich_settings
from reprise.tuner.mpich.installed_library import MpichLibrary, describe
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, can_decide, serves
from reprise.tuner.mpich.selection_file import Rule, Rules, text_of, with_rules
from reprise.tuner.mpich.selection_proof import SUFFIX, prove
from reprise.tuner.openmpi.benchmarks import Benchmark, Call, Own, installed, rounds
from reprise.tuner.openmpi.collectives_settings import Layout, Settings
from reprise.tuner.openmpi.rules_gain import combined_gain, combined_measurement

BUILT_IN = "built-in"
"""Value of the parameter `algorithm` with which MPICH chooses by itself."""
BENCHMARK, PROBE = "reprise-collbench-mpich", "reprise-rulesprobe-mpich"
FILE_VARIABLE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
SELECTION_FILE = "selection.json"
KIND = "mpich-selection"
# A job that sets one of these variables gets no selection file, since its user made a choice. MPICH reads each variable
# under three names.
CONFLICTS = tuple(
    f"{prefix}{name}"
    for prefix in ("MPIR_CVAR_", "MPIR_PARAM_", "MPICH_")
    for name in (
        *("COLL*", "CH4_COLL*", "CH4_POSIX_COLL*", "DEVICE_COLL*", "ENABLE_SMP*", "NOLOCAL", "ODD_EVEN_CLIQUES"),
        *(f"{collective.upper()}_*" for collective in CATALOGUE),
    )
)


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> Component:
    """Return the component for a campaign's settings and the installed MPICH.

    Raise TunerError with one line if the settings are invalid.
    """
    checked = mpich_settings.read(definition.get("defaults", {}), settings)
    return MpichComponent(definition["name"], definition["version"], checked, describe(config.mpich.library), config)


@dataclass(frozen=True)
class Cell:
    """A tuning problem with its collective, message size (in bytes, as benchmarks report it) and layout."""

    problem: Problem
    collective: str
    size: int
    layout: Layout


class MpichComponent:
    """Implementation of `Component` for MPICH's collectives."""

    def __init__(self, name: str, version: str, settings: Settings, library: MpichLibrary, config: Config) -> None:
        self.name = name
        self.version = version
        self.settings = settings
        self.library = library
        self.config = config
        for collective in settings.collectives:
            if not library.algorithms(collective):
                raise TunerError(
                    f"settings: collectives: MPICH {library.version} has no algorithms of {collective} to choose from: "
                    "leave it out"
                )
        other = [release for release in config.mpich.releases if release != library.version]
        if other:
            raise TunerError(
                f"mpich.releases: jobs may load {other[0]}, but a selection file for {library.version} ends the "
                "programs of other releases: declare only the release of mpich.library"
            )
        self.benchmark = _benchmark(settings, config)
        self._cells = {cell.problem.key: cell for layout in settings.layouts for cell in self._of(layout)}

    def context(self) -> Mapping[str, object]:
        """Return the layouts and the release that the results are valid for."""
        nodes = self.settings.nodes
        return {**self._family(), "nodes": nodes[0] if len(nodes) == 1 else list(nodes), "tasks_per_node": 1}

    def problems(self) -> Sequence[Problem]:
        """Return a problem for each collective, size and layout."""
        return [cell.problem for cell in self._cells.values()]

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Plan a trial of one problem."""
        return self.plan_round([Wanted(problem, parametrization)])

    def plan_round(self, wanted: Sequence[Wanted]) -> TrialPlan:
        """Plan one run of the benchmark, with one selection file for the wanted choices of all collectives and sizes.

        All problems in `wanted` must have the same layout.
        """
        cells = [self._cells[one.problem] for one in wanted]
        layout = cells[0].layout
        calls = [Call(cell.collective, cell.size, one.most) for cell, one in zip(cells, wanted, strict=True)]
        command = self.benchmark.command(calls, layout.tasks)
        timeout_s = self.settings.timeout_s + 2 * self.settings.max_seconds * (len(wanted) - 1)
        rules = _rules((cell, one.point) for cell, one in zip(cells, wanted, strict=True))
        if not rules:
            return TrialPlan(command.argv, layout.nodes, 1, {}, command.files, timeout_s)
        text = text_of(with_rules(self.library, rules, layout.tasks))
        environment = {FILE_VARIABLE: f"{{directory}}/{SELECTION_FILE}"}
        files = {**command.files, SELECTION_FILE: text}
        return TrialPlan(command.argv, layout.nodes, 1, environment, files, timeout_s)

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Return the sample of a problem from a benchmark's output.

        Raise ObjectiveError unless the output has exactly one valid time.
        """
        cell = self._cells[problem]
        found = self.benchmark.times(output.stdout, Call(cell.collective, cell.size), cell.layout.tasks)
        if len(found) != 1 or not math.isfinite(found[0].value) or found[0].value <= 0:
            words = (output.stderr.strip().splitlines() or ["nothing on standard error"])[0]
            raise ObjectiveError(
                f"{problem}: the output has no valid time of {cell.collective} at {cell.size} bytes on "
                f"{cell.layout.tasks} tasks (exit {output.exit_status}: {words}): run the trial's script by hand"
            )
        return found[0]

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Return a publication with a proved selection file for each layout that has winners."""
        found = (self._publication(layout, comparisons, run, artifacts) for layout in self.settings.layouts)
        return [one for one in found if one]

    def check_earlier(self, earlier: Sequence[Published]) -> None:
        """Do nothing: rules of earlier campaigns are not taken over."""

    def publish_with(
        self, earlier: Sequence[Published], comparisons: Sequence[Comparison], run: Runner, artifacts: Path
    ) -> Sequence[Publication]:
        """Publish without the rules of earlier campaigns, which stay in the records of these campaigns."""
        return self.publish(comparisons, run, artifacts)

    def review(self, defaults: Mapping[str, Measurement], comparisons: Sequence[Comparison]) -> Sequence[str]:
        """Return no remarks."""
        return ()

    def _publication(
        self, layout: Layout, comparisons: Sequence[Comparison], run: Runner, directory: Path
    ) -> Publication | None:
        mine = [one for one in comparisons if self._cells[one.problem].layout == layout]
        kept = [one for one in mine if one.gain_low > 0 and one.winner["algorithm"] != BUILT_IN]
        winners = {one.problem: one.winner for one in kept}
        # Sizes without a winner are included, since each ends the rule of the next smaller size.
        cells = [cell for cell in self._cells.values() if cell.layout == layout]
        rules = _rules((cell, winners.get(cell.problem.key, cell.problem.default)) for cell in cells)
        if not rules:
            return None
        plan = TrialPlan(
            [str(self.config.tuner.libexec / PROBE)],
            layout.nodes,
            1,
            {FILE_VARIABLE: "{rules}"},
            timeout_s=self.settings.timeout_s,
        )
        proof = prove(self.library, rules, layout.tasks, plan, run, directory)
        text = text_of(with_rules(self.library, rules, layout.tasks))
        artifact = artifacts.publish(directory, text, KIND, SUFFIX)
        gain, low, high = combined_gain(kept)
        return Publication(
            parametrization={
                RULES: [_row(one, one in kept) for one in mine],
                "proof": {"calls": [str(call) for call in proof.calls], "launches": proof.launches},
            },
            environment={FILE_VARIABLE: artifact.path},
            conflicts=CONFLICTS,
            default=combined_measurement([one.default for one in kept]),
            tuned=combined_measurement([one.tuned for one in kept]),
            gain=gain,
            gain_low=low,
            gain_high=high,
            artifact=artifact,
            context={**self._family(), "nodes": layout.nodes, "tasks_per_node": 1},
        )

    def _family(self) -> dict[str, object]:
        return {"mpi": "MPICH", "mpich": [self.library.version]}

    def _of(self, layout: Layout) -> list[Cell]:
        """Return a layout's cells: one for each collective and size.

        A collective for which selection files distinguish no sizes has only one cell.
        """
        several = len(self.settings.layouts) > 1
        default: Parametrization = {"algorithm": BUILT_IN}
        found: list[Cell] = []
        for name in self.settings.collectives:
            sizes = sorted(self.settings.sizes) if CATALOGUE[name].key else sorted(self.settings.sizes)[-1:]
            for size in [0] if name == "barrier" else sizes:
                key = f"{layout}/{name}/{size}" if several else f"{name}/{size}"
                found.append(Cell(Problem(key, self._space(name, size, layout.tasks), default), name, size, layout))
        if not self.settings.together:
            return found
        runs = rounds(self.benchmark, [Call(cell.collective, cell.size) for cell in found])
        return [_in_round(cell, f"{layout}/{run}") for run, cell in zip(runs, found, strict=True)]

    def _space(self, name: str, size: int, ranks: int) -> Space:
        usable = (
            one
            for one in self.library.algorithms(name)
            if serves(name, one, ranks) and can_decide(name, one, size, ranks)
        )
        return Space((Parameter("algorithm", (BUILT_IN, *usable), "category"),))


def _benchmark(settings: Settings, config: Config) -> Benchmark:
    if settings.benchmark == "own" and not settings.benchmark_path:
        return Own(config.tuner.libexec / BENCHMARK, settings)
    return installed(settings, config)


def _in_round(cell: Cell, run: str) -> Cell:
    return replace(cell, problem=replace(cell.problem, round=run))


def _rules(choices: Iterable[tuple[Cell, Parametrization]]) -> Rules:
    """Return the rules of the collectives for which at least one algorithm is chosen."""
    found: dict[str, list[Rule]] = {}
    for cell, point in choices:
        algorithm = "" if point["algorithm"] == BUILT_IN else str(point["algorithm"])
        compared = CATALOGUE[cell.collective].compared_bytes(cell.size, cell.layout.tasks)
        found.setdefault(cell.collective, []).append(Rule(compared, algorithm))
    ordered = {name: sorted(rules, key=lambda rule: rule.size) for name, rules in found.items()}
    return {name: rules for name, rules in ordered.items() if any(rule.algorithm for rule in rules)}


def _row(one: Comparison, applied: bool) -> dict[str, Any]:
    return {
        "problem": one.problem,
        **(one.winner if applied else {"algorithm": BUILT_IN}),
        "applied": applied,
        "default_s": one.default.mean,
        "tuned_s": one.tuned.mean,
        "gain": one.gain,
        "gain_low": one.gain_low,
        "gain_high": one.gain_high,
        "default": asdict(one.default),
        "tuned": asdict(one.tuned),
    }
