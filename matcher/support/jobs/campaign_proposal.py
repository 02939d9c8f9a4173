# SPDX-License-Identifier: Apache-2.0
"""Campaign files for classes of jobs that nobody has tuned, written from the newest decision of each class.

The names in a decision were chosen by users, so any text that is not clearly a name or a path is left out of the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from reprise.database.entities import Decision, UnmatchedClass
from reprise.database.for_support import SupportDatabase
from reprise.matcher.errors import MatcherError
from reprise.matcher.submission.metadata import JobMetadata

COMPONENT = re.compile(r"[\w.-]+")
PLACEHOLDER = "/path/of/the/batch/script"
_PLAIN = re.compile(r"[\w.@,:+-]+", re.ASCII)
_NOT_PLAIN = re.compile(r"[^\w.@+-]+", re.ASCII)
NAME_LIMIT = 60  # maximum number of characters that a user or program name takes in a file's name
_HEAD = """# SPDX-License-Identifier: Apache-2.0
# Written by `reprise jobs unmatched`. Review it, then run `reprise tune plan` to see its trials.
"""

Says = Callable[[str], Mapping[str, str]]


def script_of(decision: Decision, job: JobMetadata, says: Says) -> str | None:
    """Return the path of the job's batch script; None if the script cannot be found.

    Decisions that were made when the job started, or by an older release, do not contain the path. The path is then
    taken from Slurm, if Slurm still has the job; `says` is called with the job's number and returns Slurm's
    information. Otherwise, a file in the job's directory that has the job's name is assumed to be the script.
    """
    if _is_path(job.script_path):
        return job.script_path
    said = says(str(decision.job_id)) if decision.job_id is not None else {}
    if said.get("UserId", "").endswith(f"({decision.uid})") and _is_path(said.get("Command", "")):
        return said["Command"]
    name = job.job_name
    if not _is_path(job.directory) or not name or Path(name).name != name:
        return None
    path = Path(job.directory, name)
    try:
        return str(path) if path.is_file() else None
    except (OSError, ValueError):  # no permission for the directory
        return None


def definition(job: JobMetadata, script: str | None, component: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a campaign file for `reprise tune run`; `component` is the content of the component's file.

    Trials run as separate jobs, since every component supports this. Required settings with unknown values are None.
    """
    application: dict[str, Any] = {"script": script or PLACEHOLDER, "user": job.user, "options": _options(job)}
    if _is_path(job.directory):
        application["directory"] = job.directory
    settings = {name: _shape(job).get(name) or _mapping(component, "suggest").get(name) for name in needs(component)}
    return {
        "name": _name(job.user, job.program or job.job_name, job.nodes).replace("-", " ")[:100],
        "component": component["name"],
        **({"settings": settings} if settings else {}),
        "application": application,
        "executor": {"kind": "slurm"},
    }


def needs(component: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the settings that a campaign of the component must contain, each with an explanation."""
    return {str(name): str(why) for name, why in _mapping(component, "needs").items()}


def missing(content: Mapping[str, Any], component: Mapping[str, Any]) -> Sequence[str]:
    """Return a line for each value that is still missing in a campaign file, with the setting and its meaning."""
    script = content["application"]["script"] in ("", PLACEHOLDER)
    settings = content.get("settings") or {}
    lines = ["application.script: the batch script"] if script else []
    return [
        *lines,
        *(f"settings.{name}: {why}" for name, why in needs(component).items() if settings.get(name) is None),
    ]


def write(
    directory: Path, rank: int, one: UnmatchedClass, content: Mapping[str, Any], component: Mapping[str, Any]
) -> Path:
    """Write the campaign file of one class of jobs. Raises MatcherError if the file exists or cannot be written."""
    path = directory / f"{rank:02}-{_name(one.user, one.application, one.nodes)}.yaml"
    open_ones = "".join(f"# To be filled in: {one}\n" for one in missing(content, component))
    text = _HEAD + open_ones + yaml.safe_dump(dict(content), sort_keys=False)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise MatcherError(f"{path}: already exists: move it away, or name another directory") from error
    except OSError as error:
        raise MatcherError(
            f"{path}: cannot be written ({error.strerror}): name a directory with write permission"
        ) from error
    return path


def described(component: str, directory: Path) -> Mapping[str, Any]:
    """Return the content of a component's file in the site's `directory`. Raises MatcherError if it cannot be read."""
    if not COMPONENT.fullmatch(component) or not (directory / f"{component}.yaml").is_file():
        raise MatcherError(
            f"component {component!r}: has no file in {directory} (tuner.components): name one of the components there"
        )
    file = directory / f"{component}.yaml"
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise MatcherError(f"{file}: cannot be read ({' '.join(str(error).split())[:200]}): correct it") from error
    return {**(content if isinstance(content, dict) else {}), "name": component}


def write_all(
    database: SupportDatabase,
    classes: Sequence[UnmatchedClass],
    directory: Path,
    component: Mapping[str, Any],
    says: Says,
) -> dict[int, tuple[str, str]]:
    """Write a campaign file for each class of jobs; return, by rank, the path and a note on values to be filled in.

    `says` has the same meaning as in `script_of`.
    """
    written = {}
    for rank, one in enumerate(classes, 1):
        decision = database.decision(one.decision_id)
        job = JobMetadata.from_json(decision.metadata)
        script = script_of(decision, job, says)
        content = definition(job, script, component)
        left_open = [line.split(":")[0] for line in missing(content, component)]
        path = write(directory, rank, one, content, component)
        written[rank] = str(path), f"; to be filled in: {', '.join(left_open)}" if left_open else ""
    return written


def _mapping(component: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = component.get(key)
    return found if isinstance(found, dict) else {}


def _shape(job: JobMetadata) -> Mapping[str, int | None]:
    """Return a job's numbers of nodes and of tasks per node; a number is None if unknown."""
    tasks = job.tasks_per_node
    if tasks is None and job.tasks and job.nodes and job.tasks % job.nodes == 0:
        tasks = job.tasks // job.nodes
    return {"nodes": job.nodes, "tasks_per_node": tasks}


def _options(job: JobMetadata) -> list[str]:
    """Return sbatch options with the job's size, partition, account and name."""
    given = {
        "nodes": job.nodes,
        "ntasks": job.tasks,
        "ntasks-per-node": None if job.tasks else job.tasks_per_node,
        "partition": job.partition,
        "account": job.account,
        "job-name": job.job_name,
    }
    return [f"--{name}={value}" for name, value in given.items() if value and _PLAIN.fullmatch(str(value))]


def _name(user: str, application: str, nodes: int | None) -> str:
    size = [] if nodes is None else [f"{nodes}-node{'s' * (nodes != 1)}"]
    words = (_NOT_PLAIN.sub("_", word)[:NAME_LIMIT].strip("._-") for word in (user, application))
    return "-".join([*(word or "unknown" for word in words), *size])


def _is_path(text: str) -> bool:
    return text.startswith("/") and text.isprintable()
