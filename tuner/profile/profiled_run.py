# SPDX-License-Identifier: Apache-2.0
"""One run of an application under the witness: the unchanged batch script, as a separate job."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprise.config import Config
from reprise.database.entities import TrialState
from reprise.matcher.submission import Submission, parse
from reprise.tuner.components import cold_files
from reprise.tuner.components.job_size import tasks_on_each
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

PROCESSES = "processes"  # in a run's directory, where processes write their reports
SANITIZER = "ASAN_OPTIONS"
ORDER = "verify_asan_link_order"
POLL_S = 1.0
NOT_JUDGED = ("landscape", "together")  # landscapes cannot be given to jobs; together consists of others


@dataclass(frozen=True)
class Application:
    """A batch script, the directory where it is submitted, and sbatch's options."""

    script: Path
    directory: Path
    options: Sequence[str] = ()


def plan(application: Application, config: Config, timeout_s: float, reads: Sequence[str] = ()) -> TrialPlan:
    """Plan the run to profile; the files in `reads` are dropped from memory before it.

    Raise TunerError like `witnessed`.
    """
    found = witnessed(application, config, timeout_s)
    return replace(
        found,
        environment={**found.environment, VARIABLE: f"{{directory}}/{PROCESSES}"},
        files={f"{PROCESSES}/.made": ""},
        before=cold_files.command(reads) if reads else "",
    )


def witnessed(application: Application, config: Config, timeout_s: float) -> TrialPlan:
    """Plan a run of the script as its user submits it, with the witness loaded but not yet writing anything.

    Raise TunerError if the witness is missing or the script keeps it from being loaded.
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
        environment=_sanitizer_options(os.environ.get(SANITIZER, "")),
    )


def _sanitizer_options(own: str) -> Mapping[str, str]:
    """Return the options that let the witness be loaded into programs with AddressSanitizer.

    Without them, these programs end if another library comes before AddressSanitizer's.
    """
    return {} if ORDER in own else {SANITIZER: ":".join([*filter(None, [own]), f"{ORDER}=0"])}


def profile(
    application: Application,
    config: Config,
    executor: Executor,
    directory: Path,
    timeout_s: float,
    reads: Sequence[str] = (),
) -> Profile:
    """Run the application once, in a new `directory` of [tuner] work, and merge the reports of its processes.

    `reads`: files to drop from memory before the run. Raise TunerError if the application cannot run, fails, or writes
    no reports.
    """
    wanted = plan(application, config, timeout_s, reads)
    try:
        claim(directory)
    except OSError as error:
        raise TunerError(
            f"{directory}: cannot be written ({error.strerror}): make tuner.work a directory of the user who tunes"
        ) from error
    place = directory / "run"
    if failure := run_once(wanted, executor, place):
        raise TunerError(f"{application.script}: {failure}: its output is in {place}")
    return merge(read_reports(place / PROCESSES))


def run_once(plan: TrialPlan, executor: Executor, directory: Path) -> str:
    """Run a plan to its end in a directory.

    Return the reason of a failure, or an empty string.
    """
    with executor:
        executor.start(Begun(directory.name, plan, directory))
        while not (found := executor.poll(POLL_S)):
            pass
    result = found[0].result
    return "" if result.state is TrialState.COMPLETE else result.message or str(result.state)


def touched(config: Config, say: Callable[[str], None]) -> Mapping[str, Touches]:
    """Return the names that each installed component touches, by component.

    A file that cannot be read is reported by `say` and omitted.
    """
    found = {}
    for path in sorted(config.tuner.components.glob("*.yaml")):
        try:
            described = component_registry.read(path.stem, config)
        except TunerError as error:
            say(str(error))
            continue
        if described["kind"] not in NOT_JUDGED:
            found[path.stem] = Touches(described.get("touches", ()), described.get("libraries", ()))
    return found
