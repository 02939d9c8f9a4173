# SPDX-License-Identifier: Apache-2.0
"""Begin, run, stop, preview and abandon campaigns; each campaign has at most one coordinator at a time."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise import __version__
from reprise.config import Config
from reprise.database.entities import Campaign, CampaignState, Scope, Trial, TrialState
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.campaign import campaign_spec, preview
from reprise.tuner.campaign.campaign_account import refuse_root
from reprise.tuner.campaign.campaign_notice import tell_end
from reprise.tuner.campaign.coordinator import Coordinator
from reprise.tuner.campaign.publish import finish, given_already
from reprise.tuner.campaign.trial_journal import Journal
from reprise.tuner.campaign.trial_sizes import with_sizes
from reprise.tuner.campaign.trials import Trials
from reprise.tuner.definition import campaign_place, component_registry
from reprise.tuner.definition.campaign_definition import Application, CampaignError, Definition, check
from reprise.tuner.definition.schedule import BackOff
from reprise.tuner.errors import CampaignFailedError, TunerError
from reprise.tuner.executors.allocation_executor import AllocationExecutor, refuse_jobs
from reprise.tuner.executors.executor import Executor, Say
from reprise.tuner.executors.job_executor import JobExecutor
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.local_executor import LocalExecutor
from reprise.tuner.executors.replay_executor import ReplayExecutor
from reprise.tuner.executors.slurm_commands import Slurm, SlurmCommands, clear
from reprise.tuner.model.component import (
    Comparison,
    Component,
    CurveComponent,
    MergingComponent,
    Problem,
    Publication,
    Published,
    Reviewer,
    Runner,
    size_of,
)
from reprise.tuner.report.progress import Report
from reprise.tuner.search import grid_points
from reprise.tuner.steps import warm_start

IDENTIFY_S = 10.0  # time limit in seconds for reading the application's program, by which its jobs are recognized
STOPPED_S = 180.0  # maximum seconds until a coordinator ends after a request to stop; it cancels its jobs first
WITH_JOBS = ("allocation", "slurm")
ASKING = ("numpy", "scipy", "scikit-learn", "optuna")


def begin(
    database: TunerDatabase,
    definition: Definition,
    config: Config,
    now: float,
    profile: Mapping[str, Any] | None = None,
) -> Campaign:
    """Read and check everything that a new campaign depends on, and write the campaign to the database.

    `profile` is the application's profile from `publish.kept_profile`, to be stored with the campaign's records.
    """
    refuse_root(definition.executor.kind, database.path)
    described, component, problems = _read(definition, config)
    if (earlier := _earlier(database, definition, component)) and isinstance(component, MergingComponent):
        component.check_earlier(earlier)
    preview.refuse_scarce(database, definition, component, problems)
    metadata = _metadata(definition.application, now) if definition.application else {}
    spec = {
        "definition": definition.model_dump(mode="json"),
        "component": described,
        "metadata": metadata,
        "problems": [_axes(problem) for problem in problems],
        "size": size_of(component, problems),
        "versions": _versions(),
        "warm_start": _sources(database, definition, component, problems, metadata, config),
    }
    if profile is not None:
        spec["profile"] = profile
    context = _context(component, config)
    campaign = Campaign(definition.name, component.name, component.version, now, spec, context)
    stored = database.campaign(database.add_campaign(campaign))
    try:
        campaign_spec.keep(stored, spec, campaign_place.directory_of(stored, config))
    except TunerError as error:
        database.set_campaign_state(stored.id, CampaignState.FAILED, {"error": str(error)})
        raise
    return stored


def run(
    database: TunerDatabase,
    campaign: Campaign,
    config: Config,
    report: Report,
    slurm: Slurm | None = None,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Sequence[int]:
    """Run a campaign from its current state to its end, and return the ids of its records.

    Raise TunerError if the campaign is interrupted and can be resumed. Raise CampaignFailedError if it has failed and
    cannot be resumed.
    """
    directory = campaign_place.directory_of(campaign, config)
    campaign = campaign_spec.whole(campaign, directory)
    definition = check(campaign.spec["definition"], f"campaign {campaign.id}")
    refuse_root(definition.executor.kind, database.path)
    with _files_named(directory), campaign_place.locked(campaign, directory):
        state = database.campaign(campaign.id).state
        if state in (CampaignState.COMPLETE, CampaignState.FAILED):
            raise TunerError(f"campaign {campaign.id} is {state} already: `reprise tune status {campaign.id}` shows it")
        database.set_campaign_state(campaign.id, CampaignState.RUNNING, {})
        try:
            component = component_registry.build(campaign.spec["component"], definition.settings, config)
            context = _context(component, config)
            if context != campaign.context:
                raise TunerError(
                    f"campaign {campaign.id} was measured for {_in_words(campaign.context)}, but the current context "
                    f"is {_in_words(context)}: restore the former, or start a new campaign"
                )
            problems = warm_start.opened(component.problems(), campaign.spec)
            commands, name = slurm or SlurmCommands(), campaign_place.job_name(campaign, directory)
            executor = build_executor(definition, config, component, problems, name, report.say, commands, sleep)
            with report.running(), executor:
                journal = Journal(database, campaign.id, clock)
                rounds = {problem.key: problem.round for problem in problems}
                trials = Trials(component, executor, journal, directory, definition.executor.max_trial_s, rounds)
                back_off = _back_off(definition, commands)
                coordinator = Coordinator(definition, problems, trials, journal, report, back_off, sleep=sleep)
                results = coordinator.run()
                found = [result.comparison for result in results if result.comparison]
                earlier = _earlier(database, definition, component)
                publications = _publications(
                    component, earlier, found, trials.prove, config.artifacts.directory, journal.rows()
                )
                measured = [row for row in journal.rows() if row.state is TrialState.COMPLETE]
                publications = with_sizes(publications, map(trials.directory, measured))
            defaults = {result.problem: result.default for result in results}
            remarks = component.review(defaults, found) if isinstance(component, Reviewer) else ()
            records = finish(database, campaign, definition, results, publications, clock(), remarks, earlier)
        except CampaignFailedError as error:
            database.set_campaign_state(campaign.id, CampaignState.FAILED, {"error": str(error)})
            tell_end(config, campaign, CampaignState.FAILED, why=str(error))
            raise
        except BaseException as error:
            why = "stopped by a signal" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__
            database.set_campaign_state(campaign.id, CampaignState.STOPPED, {"error": why})
            if isinstance(error, Exception):  # no notification if somebody stopped the campaign
                tell_end(config, campaign, CampaignState.STOPPED, why=why)
            raise
    tell_end(config, campaign, CampaignState.COMPLETE, records)
    return records


def stop(
    database: TunerDatabase,
    campaign: Campaign,
    config: Config,
    slurm: Slurm | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Stop a campaign's coordinator and jobs; the campaign can be resumed later. Raise TunerError on failure."""
    if campaign.state in (CampaignState.COMPLETE, CampaignState.FAILED):
        raise TunerError(f"campaign {campaign.id} is {campaign.state} already: there is nothing to stop")
    if campaign_place.is_running(campaign, config):
        pid, host = campaign_place.coordinator(campaign, config)
        if host != socket.gethostname():
            raise TunerError(
                f"campaign {campaign.id} runs as process {pid} on {host}: run `reprise tune stop {campaign.id}` there"
            )
        try:
            os.kill(pid, signal.SIGTERM)
        except PermissionError as error:
            raise TunerError(
                f"process {pid}, which runs campaign {campaign.id}, belongs to another user: ask them to stop it"
            ) from error
        waited = 0.0
        while campaign_place.is_running(campaign, config):
            if waited >= STOPPED_S:
                raise TunerError(
                    f"process {pid}, which runs campaign {campaign.id}, does not end: `kill -9 {pid}`, then stop the "
                    "campaign again"
                )
            sleep(0.2)
            waited += 0.2
        return
    directory = campaign_place.directory_of(campaign, config)
    with campaign_place.locked(campaign, directory):  # the coordinator was killed, and only its jobs are left
        if campaign.spec["definition"]["executor"]["kind"] in WITH_JOBS:
            clear(slurm or SlurmCommands(), campaign_place.job_name(campaign, directory), (), sleep)
        if database.campaign(campaign.id).state is CampaignState.RUNNING:
            summary = {"error": "stopped after its coordinator was killed"}
            database.set_campaign_state(campaign.id, CampaignState.STOPPED, summary)


def abandon(database: TunerDatabase, campaign: Campaign, config: Config, who: str) -> None:
    """Stop a campaign for good, on behalf of the user `who`; it cannot be resumed."""
    stop(database, campaign, config)
    database.set_campaign_state(campaign.id, CampaignState.FAILED, {"error": f"stopped for good by {who}"})


def plan(
    definition: Definition, config: Config, count: int, trial_s: float | None, database: TunerDatabase | None
) -> preview.Planned:
    """Return a preview of a campaign, with its first `count` runs and its cost; submit nothing.

    `trial_s`: the default's run time in seconds; if None, that of an earlier campaign in the database is used.
    """
    _, component, problems = _read(definition, config)
    sources: Sequence[Mapping[str, Any]] = []
    if database is not None:
        if trial_s is None:
            trial_s = preview.known_trial_s(database, definition)
        if definition.application:
            metadata = _metadata(definition.application, time.time())
            sources = _sources(database, definition, component, problems, metadata, config)
    problems = warm_start.opened(problems, {"warm_start": sources})
    executor = build_executor(definition, config, component, problems, "reprise-CAMPAIGN", print, SlurmCommands())
    texts = preview.trials(definition, component, problems, executor, config, count)
    cost = preview.cost(definition, component, problems, trial_s)
    refused = preview.why_scarce(definition, component, problems, trial_s)
    return preview.Planned(definition.name, [problem.key for problem in problems], texts, cost, sources, refused)


def cost(definition: Definition, config: Config, database: TunerDatabase | None = None) -> preview.Cost:
    """Return the maximum cost of a campaign.

    Raise CampaignError if the campaign cannot be started, or if its node-hours are too few, judging by earlier
    campaigns in the database.
    """
    _, component, problems = _read(definition, config)
    if database is not None:
        preview.refuse_scarce(database, definition, component, problems)
    return preview.cost(definition, component, problems)


def _read(definition: Definition, config: Config) -> tuple[dict[str, Any], Component, Sequence[Problem]]:
    """Return the content of the component's file, the component, and its problems.

    Raise CampaignError if there is no problem, and TunerError if trials cannot run with the campaign's executor.
    """
    described = component_registry.read(definition.component, config, definition.application, definition.settings)
    component = component_registry.build(described, definition.settings, config)
    problems = component.problems()
    if not problems:
        raise CampaignError(f"campaign {definition.name!r}: the settings leave nothing to tune: correct them")
    if definition.executor.kind == "allocation":
        for problem in problems:
            refuse_jobs(component.plan(problem.key, problem.default))
    return described, component, problems


def _earlier(database: TunerDatabase, definition: Definition, component: Component) -> Sequence[Published] | None:
    """Return the earlier records whose settings the campaign's record must include; None if it need not include any."""
    if definition.scope is not Scope.CLUSTER or not isinstance(component, MergingComponent):
        return None
    return given_already(database, component.name)


def _publications(
    component: Component,
    earlier: Sequence[Published] | None,
    found: Sequence[Comparison],
    run: Runner,
    artifacts: Path,
    trials: Sequence[Trial],
) -> Sequence[Publication]:
    if not found:
        return []
    if isinstance(component, CurveComponent):
        return component.publish_curve(trials, found)
    if earlier is not None and isinstance(component, MergingComponent):
        return component.publish_with(earlier, found, run, artifacts)
    return component.publish(found, run, artifacts)


def _sources(
    database: TunerDatabase,
    definition: Definition,
    component: Component,
    problems: Sequence[Problem],
    metadata: Mapping[str, Any],
    config: Config,
) -> Sequence[Mapping[str, Any]]:
    if definition.search.warm_start == "off":
        return []
    return warm_start.find(database, component, problems, metadata, definition.search.warm_start_score, config)


def _axes(problem: Problem) -> dict[str, Any]:
    """Return the part of a campaign's spec for one problem: its default, kinds of axes, and number of points."""
    kinds = {parameter.name: parameter.kind for parameter in problem.space.parameters}
    return {
        "problem": problem.key,
        "default": dict(problem.default),
        "kinds": kinds,
        "grid": grid_points.size(problem.space),
    }


def _versions() -> dict[str, str]:
    """Return the versions of the software on which the choice of searched points depends."""
    known = {name: importlib.metadata.version(name) for name in ASKING}
    return {"reprise": __version__, "python": platform.python_version(), **known}


@contextlib.contextmanager
def _files_named(directory: Path) -> Iterator[None]:
    """Convert an OSError in the `with` block to a TunerError with a one-line message."""
    try:
        yield
    except OSError as error:
        raise TunerError(
            f"{error.filename or directory}: {error.strerror or error}: free some space there or correct its "
            "permissions, then resume the campaign"
        ) from error


def build_executor(
    definition: Definition,
    config: Config,
    component: Component,
    problems: Sequence[Problem],
    name: str,
    say: Say,
    slurm: Slurm,
    sleep: Callable[[float], None] = time.sleep,
) -> Executor:
    """Return the executor that a definition requires; `name` is the name of its jobs."""
    section = definition.executor
    if section.kind == "local":
        return LocalExecutor()
    if section.kind == "replay":
        return ReplayExecutor(definition.search.seed)
    launcher = Launcher(section.launcher, section.mpi, config.openmpi.mpirun, config.mpich.mpiexec)
    options = section.sbatch_options()
    if section.kind == "slurm":
        return JobExecutor(slurm, name, launcher, options, say, sleep)
    plans = [component.plan(problem.key, problem.default) for problem in problems]
    nodes, tasks = max(plan.nodes for plan in plans), max(plan.tasks_per_node for plan in plans)
    return AllocationExecutor(slurm, name, launcher, options, nodes, tasks, say, sleep)


def _back_off(definition: Definition, slurm: Slurm) -> BackOff | None:
    section = definition.executor
    if section.kind != "slurm":
        return None
    return BackOff(lambda: slurm.others_wait(section.partition), section.back_off_s, time.monotonic)


def _context(component: Component, config: Config) -> dict[str, object]:
    return {"cluster": config.site.cluster, **component.context()}


def _in_words(context: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {json.dumps(value)}" for name, value in context.items())


def _metadata(application: Application, now: float) -> dict[str, Any]:
    """Return the metadata that the matcher would see if the application's user submitted its script at `now`."""
    from reprise.matcher.identity.identify import Identifier
    from reprise.matcher.submission import Submission, parse

    try:
        text = application.script.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CampaignError(
            f"{application.script}: cannot be read ({error.strerror}): give the path of the application's batch script"
        ) from error
    directory = application.directory or application.script.parent
    submission = Submission.for_script(str(application.script), text, application.options, str(directory))
    job = parse(submission, user=application.user, submit_time=now)
    return Identifier().identified(job, time.monotonic() + IDENTIFY_S).to_json()
