# SPDX-License-Identifier: Apache-2.0
"""The number of I/O forwarders as a tunable component, whose record keeps the whole curve of bandwidths.

A trial with forwarders gets the forwarding library and a map of its own, which names the first forwarders of the
configured pool. The default, direct access, runs without the library. A trial replays a pattern, or runs the
application itself.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.allowlist import PRELOAD_VARIABLE
from reprise.config import Config
from reprise.database.entities import Trial
from reprise.database.forwarding import COMPONENT
from reprise.database.gain_subject import GAIN_OF
from reprise.database.record_io_kinds import PATTERNS
from reprise.matcher.arbiter.job_variables import LIBRARY, MAP
from reprise.matcher.arbiter.record_curve import with_samples
from reprise.matcher.errors import ArbiterError
from reprise.tuner.components import forwarded, libraries
from reprise.tuner.components.application import APPLICATION, ApplicationComponent, Workload
from reprise.tuner.components.described_component import Activation, ComponentParameter, Description, Via
from reprise.tuner.errors import CampaignFailedError, TunerError
from reprise.tuner.forge import forge_file, forwarders_settings, trial_curve
from reprise.tuner.forge.forge_command import PROGRAM, arguments, explored, paths
from reprise.tuner.forge.forge_pattern import Exploration
from reprise.tuner.forge.forwarders_settings import ForwardersSettings
from reprise.tuner.forge.pattern_kinds import kinds
from reprise.tuner.forge.trial_curve import KEY
from reprise.tuner.model.component import Comparison, Problem, Publication, Runner, Sample, TrialOutput, TrialPlan
from reprise.tuner.model.space import Parametrization

PATTERN = "pattern"  # key of the pattern file's text in a component's definition, see `component_registry`
LEAST_BYTES = 65536
"""Size in bytes of the smallest request that the library forwards by default."""
CONFLICTS = ("REPRISE_FORWARD_*",)
UNIT = "1/(MB/s)"
MEGABYTE = 1e6


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> ForwardersComponent:
    """Return the component for a campaign. Raise TunerError with a one-line message if it cannot be measured."""
    name = definition["name"]
    if name != COMPONENT:
        raise TunerError(f"component {name}: the arbiter finds curves only under the name {COMPONENT}: rename it")
    checked = forwarders_settings.read(definition.get("defaults", {}), settings)
    if APPLICATION not in definition:
        raise TunerError(f"component {name}: needs an application: add its script and user to the campaign file")
    exploration = None
    if checked.pattern is not None:
        exploration = forge_file.read(definition[PATTERN], str(checked.pattern))
        _check(exploration, checked, config)
    library = libraries.required(LIBRARY, config.tuner.preload_directory)
    workload = Workload(**definition[APPLICATION])
    found = ForwardersComponent(definition["version"], checked, workload, exploration, config, library)
    found.check(os.environ)
    return found


def _check(exploration: Exploration, settings: ForwardersSettings, config: Config) -> None:
    """Raise TunerError if the library would forward no request of the pattern, so that all trials would be equal."""
    if exploration.direct_io:
        raise TunerError(f"{settings.pattern}: files with direct_io (O_DIRECT) are never forwarded: set it to 0")
    largest = max(step.request_size for phase in exploration.phases for step in phase.steps)
    if largest < LEAST_BYTES:
        raise TunerError(
            f"{settings.pattern}: requests of {largest} bytes are never forwarded: use a request_size of at least "
            f"{LEAST_BYTES}, or leave this application without forwarders"
        )
    for text in paths(exploration):
        path = Path(text)
        if ".." in path.parts or not any(path.is_relative_to(prefix) for prefix in config.forwarding.prefixes):
            raise TunerError(
                f"{settings.pattern}: path {text} is not below a directory in forwarding.prefixes, so it would not be "
                "forwarded: correct one of them"
            )


class ForwardersComponent:
    """Implements `CurveComponent` with the application, or a pattern in its place, as the only problem."""

    def __init__(
        self,
        version: str,
        settings: ForwardersSettings,
        workload: Workload,
        exploration: Exploration | None,
        config: Config,
        library: Sequence[str],
    ) -> None:
        self.name = COMPONENT
        self.version = version
        self._settings = settings
        self._exploration = exploration
        self._config = config
        self._library = library
        job = workload.job
        nodes = settings.nodes or job.nodes
        if nodes is None:
            raise TunerError(f"{workload.path}: does not set its number of nodes: set `nodes` in the settings")
        if exploration and not (settings.tasks_per_node or job.tasks_per_node or job.tasks):
            raise TunerError(f"{workload.path}: does not set its number of tasks: set `tasks_per_node` in the settings")
        numbers = forwarders_settings.possible(settings, nodes, config)
        description = Description(
            COMPONENT,
            version,
            Activation(),
            [ComponentParameter(KEY, MAP, Via.ENVIRONMENT, "int", 0, numbers, "log", unset=0)],
            conflicts=CONFLICTS,
            context=("nodes", "tasks_per_node"),
            nodes=settings.nodes,
            tasks_per_node=settings.tasks_per_node,
            timeout_s=settings.timeout_s,
        )
        self._application = ApplicationComponent(description, workload, None, config.site.cluster)

    def check(self, environment: Mapping[str, str]) -> None:
        """Raise TunerError if trials would be equal, or if no job could get the settings."""
        self._application.check(environment)

    def context(self) -> Mapping[str, object]:
        """Return the job size for which the curve is valid."""
        return self._application.context()

    def problems(self) -> Sequence[Problem]:
        """Return the only problem: the number of forwarders of the application."""
        return self._application.problems()

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Return a plan to run the pattern or the application through a number of forwarders."""
        number = int(parametrization[KEY])
        own = self._application.plan(problem, parametrization)
        if self._exploration is None:
            return self._through(own, number) if number else own
        program = str(self._config.tuner.libexec / PROGRAM)
        # Not TrialPlan.preload, which also loads the library into the launcher, and not into all ranks of mpirun.
        loaded = ["env", f"LD_PRELOAD={':'.join(self._library)}"] if number else []
        argv = [*loaded, program, *arguments(self._exploration)]
        plan = TrialPlan(argv, own.nodes, own.tasks_per_node, timeout_s=self._settings.timeout_s)
        return dataclasses.replace(self._through(plan, number), preload=()) if number else plan

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Return a trial's sample: its run time, or the inverse of the pattern's bandwidth.

        Raise ObjectiveError if the output has no bandwidth.
        """
        if self._exploration is None:
            return self._application.read(problem, output)
        return Sample(1 / explored(output.stdout).mb_s, unit=UNIT)

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Return nothing, since a curve needs all trials; `publish_curve` gets them."""
        return []

    def publish_curve(self, trials: Sequence[Trial], comparisons: Sequence[Comparison]) -> Sequence[Publication]:
        """Return a list with the curve's publication; empty if no number of forwarders is better than direct access.

        Raise CampaignFailedError if the trials' bandwidths are no curve.
        """
        (comparison,) = comparisons
        found = trial_curve.values(trials)
        chosen = trial_curve.best(found, comparison)
        if chosen is None:
            return []
        about: dict[str, Any] = {}
        if self._exploration is not None:
            about[GAIN_OF] = f"bandwidth of the pattern {self._settings.pattern}"
            about[PATTERNS] = list(kinds(self._exploration))
        try:
            kept = with_samples({"parameters": dict(chosen.winner), **about}, found.samples(self.bandwidth))
        except ArbiterError as error:
            raise CampaignFailedError(f"component {self.name}: {error}") from error
        publication = Publication.of(
            chosen,
            parametrization=kept,
            environment={PRELOAD_VARIABLE: LIBRARY},
            conflicts=CONFLICTS,
            context=self._application.by_trials(),
        )
        return [publication]

    def bandwidth(self, value: float) -> float:
        """Return the bandwidth in MB/s (10^6 bytes a second) of a run with this objective."""
        if self._settings.io_bytes is None:
            return 1 / value
        return self._settings.io_bytes / MEGABYTE / value

    def _through(self, plan: TrialPlan, number: int) -> TrialPlan:
        """Return the plan with the forwarding library, and a map of the first `number` forwarders."""
        settings = self._config.forwarding
        inputs = forwarded.through(settings.forwarders[:number], settings)
        return dataclasses.replace(
            plan,
            environment={**plan.environment, **inputs.environment},
            files={**plan.files, **inputs.files},
            preload=[*plan.preload, *self._library],
        )
