# SPDX-License-Identifier: Apache-2.0
"""Component of kind `application`, which runs and measures the batch script of a campaign's application."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.allowlist import PRELOAD_VARIABLE
from reprise.config import Config
from reprise.database.entities import Measurement
from reprise.matcher.arbiter.job_variables import LIBRARIES
from reprise.matcher.decision.user_choices import chosen_names, conflict
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.metadata import JobMetadata
from reprise.tuner.components import forwarded, libraries, objective, openmpi_build, parameter_grid, witness
from reprise.tuner.components.component_file import read
from reprise.tuner.components.described_component import ComponentParameter, Description, Via
from reprise.tuner.components.job_size import tasks_on_each
from reprise.tuner.components.publication import hints_file, publication, variables
from reprise.tuner.components.trial_inputs import Parts, parts
from reprise.tuner.components.user_script import sets, with_lines
from reprise.tuner.errors import CampaignFailedError, TunerError
from reprise.tuner.model.component import (
    MEMORY,
    PROCESSORS,
    TASKS_PER_NODE,
    Comparison,
    FromTrials,
    Problem,
    Publication,
    Runner,
    Sample,
    TrialOutput,
    TrialPlan,
)
from reprise.tuner.model.space import Parametrization

HINTS_FILE = "hints"
APPLICATION = "application"  # key of the workload in a component's definition, see `component_registry`


@dataclasses.dataclass(frozen=True)
class Workload:
    """Job to run, with its script's path and text, the directory from which it is submitted, and its sbatch options."""

    path: str
    script: str
    directory: str
    options: Sequence[str] = ()

    @property
    def submission(self) -> Submission:
        """Submission of the job by its user."""
        return Submission.for_script(self.path, self.script, self.options, self.directory)

    @property
    def job(self) -> JobMetadata:
        """Job metadata that is available at submission."""
        return parse(self.submission, user="", submit_time=0.0)


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> ApplicationComponent:
    """Return the component for a campaign. Raise TunerError with a one-line message if it cannot be tuned."""
    directory = config.tuner.preload_directory
    description = libraries.with_present(read(definition, settings), directory)
    description = openmpi_build.with_known(description, config.openmpi.ompi_info)
    if APPLICATION not in definition:
        raise TunerError(
            f"component {description.name}: needs an application: add its script and user to the campaign file"
        )
    function = None
    if description.objective.function:
        function = objective.load(description.objective.function, config.tuner.functions)
    library = libraries.required(description.activation.library, directory)
    workload = Workload(**definition[APPLICATION])
    if description.verify:
        library.append(_witness(config.tuner.libexec))
    forwarding = forwarded.inputs(description, config.forwarding)
    component = ApplicationComponent(
        description, workload, function, config.site.cluster, library, directory, forwarding
    )
    component.check(os.environ)
    return component


def _witness(directory: Path) -> str:
    """Return the path of the library that records the MPI-IO hints in effect. Raise TunerError if it is missing."""
    path = directory / witness.LIBRARY
    if not path.exists():
        raise TunerError(
            f"{path}: no such library, but it must record whether hints are in effect: install it with "
            "`make install-tools`, or set [tuner] libexec to its directory"
        )
    return str(path)


class ApplicationComponent:
    """Implements `Component` with the application as the only problem."""

    def __init__(
        self,
        description: Description,
        workload: Workload,
        function: objective.Function | None,
        cluster: str,
        library: Sequence[str] = (),
        preload_directory: Path = Path("/usr/local/lib"),
        forwarding: forwarded.Inputs = forwarded.NONE,
    ) -> None:
        self.name = description.name
        self.version = description.version
        self.description = description
        self.workload = workload
        self._function = function
        self._cluster = cluster
        self._library = library
        self._preload_directory = preload_directory
        self._forwarding = forwarding
        self._remarks: dict[str, None] = {}
        self.default: Parametrization = {p.key: p.default for p in description.parameters}
        job = workload.job
        self._size_is_known = (description.nodes or job.nodes) is not None
        self._nodes = description.nodes or job.nodes or 1
        self._tasks_per_node = description.tasks_per_node or tasks_on_each(job, self._nodes)
        self._tasks_are_known = (description.tasks_per_node or job.tasks_per_node or job.tasks) is not None
        most = {"nodes": self._nodes, "tasks": self._nodes * self._tasks_per_node} if self._size_is_known else {}
        try:
            parameters = parameter_grid.bounded(description.parameters, most)
            self.space = parameter_grid.space(parameters, description.forbidden, self.default)
        except ValueError as error:
            raise TunerError(f"component {self.name}: {error}") from error

    def check(self, environment: Mapping[str, str]) -> None:
        """Raise TunerError if trials would measure the wrong settings, or if no job could get the tuned settings.

        Trials would measure the wrong settings if the script itself sets one of the component's variables, or if this
        process has a variable that some trials must not have, since trials inherit it. No job could get the settings if
        every job of the script sets a conflicting variable, or if the record would be restricted to a job size that the
        script leaves open.
        """
        if {*self.description.context} - {MEMORY} and not self._size_is_known:
            raise TunerError(
                f"{self.workload.path}: does not set its number of nodes, and the result holds only for that number: "
                "set `nodes` in the campaign's settings"
            )
        job = self.workload.job
        if TASKS_PER_NODE in self.description.context and not job.tasks_per_node and (job.tasks or 0) % self._nodes:
            raise TunerError(
                f"{self.workload.path}: has {job.tasks} tasks on {self._nodes} nodes, but the result holds only for "
                "equal numbers of tasks per node: set --ntasks-per-node, or leave this component out"
            )
        for name in variables(self.description):
            if sets(self.workload.script, name):
                raise TunerError(
                    f"{self.workload.path}: sets {name} itself, so all trials would be equal: remove that line"
                )
        if chosen := conflict(variables(self.description), chosen_names(self.workload.submission)):
            raise TunerError(
                f"{self.workload.path}: the script or its options set {chosen}, and jobs that set it get no settings: "
                "remove it, or leave this component out"
            )
        parameters = [p for p in self.description.parameters if p.via is Via.ENVIRONMENT and _may_be_absent(p)]
        absent = [name for parameter in parameters for name in (parameter.name, *parameter.copies)]
        activation = self.description.activation
        for name in [*absent, *filter(None, [activation.hints, activation.hint_list])]:
            if name in environment:
                raise TunerError(f"{name} is set here, and trials without it would inherit it: unset {name}")

    def context(self) -> Mapping[str, object]:
        """Return the job sizes that a record of this component is restricted to."""
        known = {"nodes": self._nodes, "tasks_per_node": self._tasks_per_node}
        return {name: known[name] for name in self.description.context if name in known}

    def problems(self) -> Sequence[Problem]:
        """Return the application as the only problem, or no problem if the default is the only point of the space."""
        only = math.prod(len(parameter.values) for parameter in self.space.parameters) == 1
        if only and self.space.key(self.default) in {self.space.key(point) for point in self.space.points}:
            return []
        return [Problem(Path(self.workload.path).name, self.space, self.default)]

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Return a plan to run the application's script with a parametrization."""
        own = self.given(self.workload.script, parametrization)
        return dataclasses.replace(own, options=[*self.workload.options, *own.options])

    def given(self, script: str, parametrization: Parametrization) -> TrialPlan:
        """Return a plan to run a script with a parametrization, without its user's sbatch options."""
        given = parts(self.description, parametrization)
        environment, files = dict(given.environment), {}
        if given.hints:
            environment[self.description.activation.hints] = f"{{directory}}/{HINTS_FILE}"
            files[HINTS_FILE] = hints_file(self.description, given, [f"trial of {Path(self.workload.path).name}"])
        if environment.get(PRELOAD_VARIABLE) in LIBRARIES:
            environment |= self._forwarding.environment
            files |= self._forwarding.files
        if self.description.verify:
            environment |= witness.ENVIRONMENT
            if listed := environment.get(self.description.activation.hint_list):
                hints = listed.split(self.description.activation.hint_separator)
                files[HINTS_FILE] = "".join(f"{one.replace('=', ' ', 1)}\n" for one in hints)
        return TrialPlan(
            argv=[],
            nodes=self._nodes,
            tasks_per_node=self._tasks_per_node,
            environment=environment,
            files=files,
            timeout_s=self.description.timeout_s,
            script=with_lines(script, given),
            work_directory=self.workload.directory,
            options=given.options,
            directives=given.directives,
            before=self.description.before,
            preload=[*given.preload, *self._library, *self._chosen_library(given.environment)],
        )

    def _chosen_library(self, environment: Mapping[str, str]) -> list[str]:
        """Return the library that a parameter chooses, in a list; empty without one, or if the activation loads it."""
        name = environment.get(PRELOAD_VARIABLE)
        if not name or name == self.description.activation.library:
            return []
        return [str(libraries.file_of(name, self._preload_directory))]

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Return a trial's sample. Raise CampaignFailedError if the trial's MPI-IO hints were not in effect."""
        self.verify(output)
        return objective.read(self.description.objective, output, self.workload.directory, self._function)

    def verify(self, output: TrialOutput) -> None:
        """Raise CampaignFailedError if a trial's MPI-IO hints were not in effect."""
        directory = output.directory
        if not self.description.verify or directory is None:
            return
        file = directory / HINTS_FILE
        given = witness.given_hints(file.read_text(encoding="utf-8")) if file.exists() else {}
        by_program = bool(self.description.activation.hint_list)
        seen = witness.seen_in(directory)
        problem = witness.objection(given, seen, by_program=by_program)
        if problem:
            raise CampaignFailedError(f"component {self.name}: {problem}")
        # If `by_program` is true, a library in the program passes the hints to MPI-IO, so the program overrides none of
        # them.
        if not by_program:
            self._remarks |= dict.fromkeys(witness.overridden(given, seen))

    def review(self, defaults: Mapping[str, Measurement], comparisons: Sequence[Comparison]) -> Sequence[str]:
        """Return remarks about hints that the program overrides for some of its files."""
        return list(self._remarks)

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Return a list with the winner's publication; empty if the winner is not better than the default beyond noise.

        If the component verifies hints and the winner has settings of Open MPI, an additional run must prove that Open
        MPI applies these settings. If the winner prefers components of Open MPI, an additional run must prove that Open
        MPI selects them.
        """
        (comparison,) = comparisons
        found = self.published(comparison, parts(self.description, self.default), run, artifacts)
        return [found] if found else []

    def published(self, comparison: Comparison, before: Parts, run: Runner, artifacts: Path) -> Publication | None:
        """Return the winner's publication, or None if it is not better than the default beyond noise.

        `before`: inputs of the runs that the winner was compared with, which may differ from the component's default.
        """
        found = publication(self.description, before, comparison, artifacts, self._cluster)
        if found and found.environment and self.description.verify:
            self._prove(comparison, run)
        if found and found.environment and self.description.known_to:
            self._prove_selection(comparison, run)
        return dataclasses.replace(found, context={**found.context, **self.by_trials()}) if found else None

    def by_trials(self) -> dict[str, object]:
        """Return the part of the context that is unknown until a job runs, and therefore comes from the trials."""
        found: dict[str, object] = {}
        for name in (PROCESSORS, MEMORY):
            if name in self.description.context:
                found[name] = FromTrials()
        if TASKS_PER_NODE in self.description.context and not self._tasks_are_known:
            found[TASKS_PER_NODE] = FromTrials(self._tasks_per_node)
        return found

    def _prove(self, comparison: Comparison, run: Runner) -> None:
        """Run the winner again. Raise CampaignFailedError if Open MPI does not apply the winner's settings."""
        plan = self.plan(comparison.problem, comparison.winner)
        settings = witness.settings_of(plan.environment)
        if not settings:
            return
        asking = witness.asking_for(settings)
        output = run(dataclasses.replace(plan, environment={**plan.environment, **asking}))
        problem = witness.unknown_setting(settings, witness.seen_in(output.directory)) if output.directory else ""
        if problem:
            raise CampaignFailedError(f"component {self.name}: {problem}")

    def _prove_selection(self, comparison: Comparison, run: Runner) -> None:
        """Run the winner again. Raise CampaignFailedError if Open MPI does not select the preferred components."""
        plan = self.plan(comparison.problem, comparison.winner)
        preferred = openmpi_build.preferred(plan.environment)
        if preferred:
            output = run(dataclasses.replace(plan, environment={**plan.environment, **openmpi_build.ASKING}))
            if problem := openmpi_build.objection(preferred, output.stdout + output.stderr):
                raise CampaignFailedError(f"component {self.name}: {problem}")


def _may_be_absent(parameter: ComponentParameter) -> bool:
    return parameter.unset is not None or bool(parameter.counts_when)
