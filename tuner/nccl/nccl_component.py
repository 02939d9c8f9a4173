# SPDX-License-Identifier: Apache-2.0
"""Collectives of NCCL and RCCL as a tunable component: a trial and a job get a choice through the same tuner plugin.

The default is measured without the plugin, because jobs that get no record run without the plugin too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database.gain_subject import RULES
from reprise.tuner.errors import TunerError
from reprise.tuner.model import artifacts as published
from reprise.tuner.model.component import (
    Comparison,
    Component,
    Problem,
    Publication,
    Runner,
    Sample,
    TrialOutput,
    TrialPlan,
)
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.nccl import nccl_settings, nccl_tests
from reprise.tuner.nccl.nccl_settings import NcclSettings
from reprise.tuner.nccl.plugin_proof import FILE_VARIABLE, TunerPlugin, examine, prove
from reprise.tuner.nccl.tuner_decision import exists
from reprise.tuner.nccl.tuner_lines import BY_NCCL, LARGEST, Line, write
from reprise.tuner.openmpi.collectives_settings import Layout
from reprise.tuner.openmpi.rules_gain import combined_gain, combined_measurement

KIND = "nccl-tuner"
PLUGIN_VARIABLE = "NCCL_TUNER_PLUGIN"
TRIAL_FILE = "tuner.conf"
BY_DEFAULT = "default"
DEFAULT: Parametrization = {"method": BY_DEFAULT, "channels": BY_NCCL}
# A job that sets one of these variables gets no file, since its user made a choice.
CONFLICTS = (
    *("NCCL_ALGO", "NCCL_PROTO", "NCCL_TUNER_*", "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_CTA_POLICY"),
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
    *("RCCL_OVERRIDE_ALGO", "RCCL_OVERRIDE_PROTO"),
)


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> Component:
    """Return the component for a campaign's settings. Raise TunerError if they or the tuner plugin are unusable."""
    checked = nccl_settings.read(definition.get("defaults", {}), settings)
    return NcclComponent(definition["name"], definition["version"], checked, examine(checked.tuner_plugin), config)


@dataclass(frozen=True)
class Cell:
    """A tuning problem with its collective, message size (in bytes, as nccl-tests reports it) and layout."""

    problem: Problem
    collective: str
    size: int
    layout: Layout


class NcclComponent:
    """Implementation of `Component` for the collectives of NCCL and RCCL."""

    def __init__(self, name: str, version: str, settings: NcclSettings, plugin: TunerPlugin, config: Config) -> None:
        self.name = name
        self.version = version
        self.settings = settings
        self.plugin = plugin
        self.config = config
        if not settings.layouts:
            raise TunerError("settings: nodes: one GPU cannot communicate: use 2 GPUs or more in total")
        self.programs: dict[str, Path] = {
            name: nccl_tests.program(settings.benchmark_path, name) for name in settings.collectives
        }
        cells = (self._cell(*one) for one in self._calls())
        self._cells = {cell.problem.key: cell for cell in cells}

    def context(self) -> Mapping[str, object]:
        """Return the library, the plugin and the layouts, which restrict no job: the file itself states its layouts."""
        layouts = [str(layout) for layout in self.settings.layouts]
        return {"library": self.settings.library, "tuner_plugin": self.plugin.name, "layouts": layouts}

    def problems(self) -> Sequence[Problem]:
        """Return a problem for each collective, size and layout."""
        return [cell.problem for cell in self._cells.values()]

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Plan a run of nccl-tests on one size; the file of a choice covers all sizes of the collective."""
        cell, s = self._cells[problem], self.settings
        argv = [str(self.programs[cell.collective]), *nccl_tests.arguments(cell.size, s.iterations, s.warmup)]
        files, environment = {}, {}
        if parametrization["method"] != BY_DEFAULT:
            line = _line(cell.collective, 0, LARGEST, parametrization, cell.layout)
            files = {TRIAL_FILE: write([line], [f"trial of {problem}"])}
            environment = self._environment(f"{{directory}}/{TRIAL_FILE}")
        gpus = [f"--gpus-per-node={cell.layout.tasks_per_node}"] if s.gpu_options is None else s.gpu_options
        return TrialPlan(
            argv, cell.layout.nodes, cell.layout.tasks_per_node, environment, files, s.timeout_s, options=gpus
        )

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Return the time of a problem. Raise ObjectiveError if the output lacks the time or reports wrong results."""
        cell = self._cells[problem]
        return nccl_tests.time_in(output.stdout, cell.size, cell.layout.tasks)

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Return one publication with a file for all layouts, after the plugin has proved that it follows the file."""
        kept = [one for one in comparisons if one.gain_low > 0 and one.winner["method"] != BY_DEFAULT]
        if not kept:
            return []
        lines = list(self._lines({one.problem: one.winner for one in kept}))
        text = write(lines, self._about())
        calls = prove(self.plugin, text)
        artifact = published.publish(artifacts, text, KIND, ".conf")
        gain, low, high = combined_gain(kept)
        return [
            Publication(
                parametrization={RULES: [_row(one, one in kept) for one in comparisons], "proof": {"calls": calls}},
                environment=self._environment(artifact.path),
                conflicts=CONFLICTS,
                default=combined_measurement([one.default for one in kept]),
                tuned=combined_measurement([one.tuned for one in kept]),
                gain=gain,
                gain_low=low,
                gain_high=high,
                artifact=artifact,
            )
        ]

    def _calls(self) -> Iterator[tuple[Layout, str, int]]:
        s = self.settings
        return ((one, name, size) for one in s.layouts for name in s.collectives for size in sorted(s.sizes))

    def _cell(self, layout: Layout, collective: str, size: int) -> Cell:
        key = f"{layout}/{collective}/{size}"
        place = {"size": size, "nodes": layout.nodes, "tasks_per_node": layout.tasks_per_node}
        problem = Problem(key, self._space(collective), DEFAULT, family=collective, context=place)
        return Cell(problem, collective, size, layout)

    def _space(self, collective: str) -> Space:
        s = self.settings
        pairs = ((algorithm, protocol) for algorithm in s.algorithms for protocol in s.protocols)
        methods = [f"{one}/{other}" for one, other in pairs if exists(collective, one, other)]
        if not methods:
            raise TunerError(f"settings: algorithms: NCCL has none of these for {collective}: add ring")
        counts = tuple(sorted({BY_NCCL, *s.channels}))
        return Space(
            (Parameter("method", (BY_DEFAULT, *methods), "category"), Parameter("channels", counts, "log")), _canonical
        )

    def _environment(self, path: str) -> dict[str, str]:
        return {PLUGIN_VARIABLE: self.plugin.name, FILE_VARIABLE: path}

    def _lines(self, winners: Mapping[str, Parametrization]) -> Iterator[Line]:
        """Yield a line for each winner: from its size to the next measured one, or to twice the largest size."""
        ends = sorted(self.settings.sizes)
        following = dict(zip(ends, [*ends[1:], 2 * ends[-1]], strict=True))
        for key, cell in self._cells.items():
            if key in winners:
                yield _line(cell.collective, cell.size, following[cell.size] - 1, winners[key], cell.layout)

    def _about(self) -> list[str]:
        return [
            f"Tuner file of NCCL, made by Reprise ({self.name} {self.version}) for {self.config.site.cluster}",
            "collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks,pipeline_operations,registered",
        ]


def _canonical(point: Parametrization) -> Parametrization:
    return DEFAULT if point["method"] == BY_DEFAULT else point


def _line(collective: str, low: int, high: int, choice: Parametrization, layout: Layout) -> Line:
    algorithm, _, protocol = str(choice["method"]).partition("/")
    return Line(collective, low, high, algorithm, protocol, int(choice["channels"]), layout.nodes, layout.tasks)


def _row(comparison: Comparison, applied: bool) -> dict[str, Any]:
    chosen = comparison.winner if applied else DEFAULT
    return {
        "problem": comparison.problem,
        **chosen,
        "applied": applied,
        "gain": comparison.gain,
        "gain_low": comparison.gain_low,
        "gain_high": comparison.gain_high,
        "default": asdict(comparison.default),
        "tuned": asdict(comparison.tuned),
    }
