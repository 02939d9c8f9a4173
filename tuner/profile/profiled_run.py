# SPDX-License-Identifier: Apache-2.0
"""One run of an application under the witness: the batch script as it is, as a job of its own."""

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

PROCESSES = "processes"  # directory of a run's directory, where processes write to
SANITIZER = "ASAN_OPTIONS"
ORDER = "verify_asan_link_order"
POLL_S = 1.0
NOT_JUDGED = ("landscape", "together")  # recorded, so nothing that a job can be given; made of others


@dataclass(frozen=True)
class Application:
    """A batch script, the directory where it is submitted, and sbatch's options."""

    script: Path
    directory: Path
    options: Sequence[str] = ()


def plan(application: Application, config: Config, timeout_s: float, reads: Sequence[str] = ()) -> TrialPlan:
    """Plan the run to profile, which does not find the files that it `reads` in memory.

    Raises TunerError, see `witnessed`.
    """
    found = witnessed(application, config, timeout_s)
    return replace(
        found,
        environment={**found.environment, VARIABLE: f"{{directory}}/{PROCESSES}"},
        files={f"{PROCESSES}/.made": ""},
        before=cold_files.command(reads) if reads else "",
    )


def witnessed(application: Application, config: Config, timeout_s: float) -> TrialPlan:
    """The script as its user submits it, with the witness loaded, which is told nothing yet.

    Raises TunerError where the witness is missing, or could not get into the program.
    """
    library = config.tuner.libexec / LIBRARY
    if not library.exists():
        raise TunerError(
            f"{library}: there is no such library, without which nothing is seen of a program: install it "
            "(`make install-tools`), or set [tuner] libexec to where it is"
        )
    text = read_script(application.script)
    if sets(text, "LD_PRELOAD") and not re.search(r"LD_PRELOAD=.*\$\{?LD_PRELOAD", text):
        raise TunerError(
            f"{application.script}: sets LD_PRELOAD itself, so that the witness would not be loaded: write "
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
    """Programs with AddressSanitizer end where another library comes before its own, unless its options allow it."""
    return {} if ORDER in own else {SANITIZER: ":".join([*filter(None, [own]), f"{ORDER}=0"])}


def profile(
    application: Application,
    config: Config,
    executor: Executor,
    directory: Path,
    timeout_s: float,
    reads: Sequence[str] = (),
) -> Profile:
    """Run the application once, in a new `directory` of [tuner] work, and merge what its processes wrote.

    `reads`: files that are dropped from memory before. Raises TunerError where it cannot run, fails, or nothing of it
    was seen.
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
    """Run a plan to its end in a directory. Returns why it failed; empty: it did not."""
    with executor:
        executor.start(Begun(directory.name, plan, directory))
        while not (found := executor.poll(POLL_S)):
            pass
    result = found[0].result
    return "" if result.state is TrialState.COMPLETE else result.message or str(result.state)


def touched(config: Config, say: Callable[[str], None]) -> Mapping[str, Touches]:
    """What each installed component touches, by name; a file that cannot be read is said and left out."""
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
