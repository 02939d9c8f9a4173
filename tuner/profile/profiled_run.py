# SPDX-License-Identifier: Apache-2.0
"""Run an application's unchanged batch script once with the witness (reprise-witness.so) loaded, and make a profile."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprise.config import Config
from reprise.database.entities import TrialState
from reprise.matcher.submission import Submission, parse
from reprise.tuner.components import cold_files, forwarded
from reprise.tuner.components.job_size import tasks_on_each
from reprise.tuner.components.touched_operations import operations
from reprise.tuner.components.user_script import sets
from reprise.tuner.definition import component_registry
from reprise.tuner.definition.campaign_place import claim
from reprise.tuner.definition.component_registry import read_script
from reprise.tuner.errors import TunerError
from reprise.tuner.executors.executor import Begun, Executor
from reprise.tuner.model.component import TrialPlan
from reprise.tuner.profile.merge import merge
from reprise.tuner.profile.process_report import LIBRARY, VARIABLE, read_reports
from reprise.tuner.profile.profile_values import Profile
from reprise.tuner.profile.verdicts import Touches

PROCESSES = "processes"  # subdirectory of a run's directory to which processes write their reports
POLL_S = 1.0
# Kinds of components that get no verdict: a landscape only replays recorded measurements, so it has no settings for
# jobs, and `together` only combines other components.
NOT_JUDGED = ("landscape", "together")


@dataclass(frozen=True)
class Application:
    """An application: its batch script, the directory from which the script is submitted, and its sbatch options."""

    script: Path
    directory: Path
    options: Sequence[str] = ()


def plan(application: Application, config: Config, timeout_s: float, reads: Sequence[str] = ()) -> TrialPlan:
    """Return a plan for the run to profile; the files in `reads` are dropped from the page cache before the run.

    Raise TunerError in the same cases as `witnessed`.
    """
    found = witnessed(application, config, timeout_s)
    return replace(
        found,
        environment={**found.environment, VARIABLE: f"{{directory}}/{PROCESSES}"},
        files={f"{PROCESSES}/.made": ""},
        before=cold_files.command(reads) if reads else "",
    )


def witnessed(application: Application, config: Config, timeout_s: float) -> TrialPlan:
    """Return a plan to run the script as its user does, with the witness loaded but not configured to write anything.

    Raise TunerError if the witness is missing or the script prevents it from being loaded.
    """
    library = config.tuner.libexec / LIBRARY
    if not library.exists():
        raise TunerError(
            f"{library}: not found, but needed to observe programs: install it (`make install-tools`), or set "
            "[tuner] libexec to its directory"
        )
    text = read_script(application.script)
    if sets(text, "LD_PRELOAD") and not re.search(r"LD_PRELOAD=.*\$\{?LD_PRELOAD", text):
        raise TunerError(
            f"{application.script}: overwrites LD_PRELOAD, so the witness would not be loaded: write "
            "LD_PRELOAD=$LD_PRELOAD:... there"
        )
    directory = str(application.directory)
    job = parse(
        Submission.for_script(str(application.script), text, application.options, directory), user="", submit_time=0.0
    )
    nodes = job.nodes or 1
    return TrialPlan(
        argv=[],
        nodes=nodes,
        tasks_per_node=tasks_on_each(job, nodes),
        timeout_s=timeout_s,
        script=text,
        work_directory=directory,
        options=list(application.options),
        preload=[str(library)],
    )


def profile(
    application: Application,
    config: Config,
    executor: Executor,
    directory: Path,
    timeout_s: float,
    reads: Sequence[str] = (),
) -> Profile:
    """Run the application once, in a new `directory` within [tuner] work, and return its profile.

    `reads`: files to drop from the page cache before the run. Raise TunerError if the application cannot run, fails, or
    writes no reports.
    """
    wanted = plan(application, config, timeout_s, reads)
    try:
        claim(directory)
    except OSError as error:
        raise TunerError(
            f"{directory}: cannot be written ({error.strerror}): set tuner.work to a directory that you own"
        ) from error
    place = directory / "run"
    if failure := run_once(wanted, executor, place):
        raise TunerError(f"{application.script}: {failure}: its output is in {place}")
    return merge(read_reports(place / PROCESSES))


def run_once(plan: TrialPlan, executor: Executor, directory: Path) -> str:
    """Run a plan in a directory and wait until the run ends.

    Return the reason if the run failed, otherwise an empty string.
    """
    with executor:
        executor.start(Begun(directory.name, plan, directory))
        while not (found := executor.poll(POLL_S)):
            pass
    result = found[0].result
    return "" if result.state is TrialState.COMPLETE else result.message or str(result.state)


def touched(config: Config, say: Callable[[str], None]) -> Mapping[str, Touches]:
    """Return the parts of a profile that each installed component can affect, by component.

    A component file that cannot be read is reported through `say` and omitted. Components that need I/O forwarders are
    omitted on sites without any.
    """
    found = {}
    for path in sorted(config.tuner.components.glob("*.yaml")):
        try:
            described = component_registry.read(path.stem, config)
            names = operations(described, config.openmpi.ompi_info)
        except TunerError as error:
            say(str(error))
            continue
        if described["kind"] not in NOT_JUDGED and not forwarded.is_out_of_reach(described, config.forwarding):
            has_rules = described["kind"] == "collectives"  # campaigns measure rules on all ranks of the job only
            found[path.stem] = Touches(names, described.get("libraries", ()), has_rules)
    return found
