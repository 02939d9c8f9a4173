# SPDX-License-Identifier: Apache-2.0
"""Features: named values from a job's metadata that a model can compare."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Any

from reprise.matcher.submission.generic_names import is_generic
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import is_script, placed_path

_SCRIPT = re.compile(r"\.(?:py|[Rr]|[Rr]md|jl|m|pl|rb|lua|js|jar|nf|smk|ipynb|(?:ba|c|k|z|tc)?sh)\Z")
DEFAULT_PARTITION = "(default)"
"""Value of the feature `partition` for a job whose script does not name a partition."""


class Kind(StrEnum):
    """Type of a feature's values: text ("" if unknown), number (None if unknown), or options."""

    TEXT = "text"
    NUMBER = "number"
    OPTIONS = "options"


@dataclass(frozen=True)
class Feature:
    """A named value that can be computed from a job's metadata.

    `of(metadata, zone)` returns the feature's value for a job; None as `zone` means this host's time zone.
    """

    kind: Kind
    of: Callable[[JobMetadata, tzinfo | None], Any]


def _time(read: Callable[[datetime], int]) -> Feature:
    return Feature(Kind.NUMBER, lambda job, zone: read(_local_time(job.submit_time, zone)))


# a model may read five time features of each of thousands of records, so conversions are cached
@lru_cache(maxsize=2048)
def _local_time(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, zone)


def _executable(job: JobMetadata) -> str:
    """Return the program's path; for a script, followed by its first argument, which often selects what to run."""
    path = placed_path(job)
    return "/".join([path, *job.options.get("", ())[:1]]) if is_script(job) else path


def _modules_loaded(job: JobMetadata) -> str:
    """Return "some" if the job loads environment modules, "none" if not, and "" if the job's script was not read."""
    if job.modules:
        return "some"
    return "none" if job.script else ""


def _partition(job: JobMetadata) -> str:
    """Return the job's partition: DEFAULT_PARTITION if the script does not name one, "" if the script was not read."""
    return job.partition or (DEFAULT_PARTITION if job.script else "")


def _named_program(job: JobMetadata) -> str:
    """Return the program's name, or "" if the name is generic."""
    return "" if is_generic(job.program) else job.program


def _script_program(job: JobMetadata) -> str:
    """Return the program's name if the program is a script and its name is not generic, else "".

    Only scripts count, because executables are often renamed and rebuilt, and scripts are not.
    """
    return job.program if _SCRIPT.search(job.program) and not is_generic(job.program) else ""


def _below_user(job: JobMetadata) -> list[str]:
    """Return the components of the working directory's path that follow `/USER/`; [] if there are none."""
    _, mine, below = job.directory.partition(f"/{job.user}/")
    return below.split("/") if mine and below else []


def _own_project(job: JobMetadata) -> str:
    """Return the user and the first directory below the user's directory, as in `alice/mesh`.

    Return "" if the job runs directly in that directory, because that directory may belong to a single run rather than
    to a project.
    """
    below = _below_user(job)
    return f"{job.user}/{below[0]}" if len(below) > 1 else ""


def _own_place(job: JobMetadata) -> str:
    """Return the user, the first directory below the user's directory, and the program, as in `alice/mesh/run`.

    Return "" if the program's name is not generic, or if the working directory is not below the user's directory.
    """
    below = _below_user(job)
    return f"{job.user}/{below[0]}/{job.program}" if below and job.program and is_generic(job.program) else ""


def _own_script(job: JobMetadata) -> str:
    """Return the user, the directory and the script's sketch if the job's program is unknown, else ""."""
    return f"{job.user} {job.directory} {job.script}" if job.script and not job.program else ""


def _io_pattern(operation: str) -> Feature:
    """Return the feature with the kind of the job's reads or writes; "" if it is unknown, or if there are several."""
    prefix = f"{operation}/"

    def of(job: JobMetadata, _: tzinfo | None) -> str:
        found = [kind.removeprefix(prefix) for kind in job.io_patterns if kind.startswith(prefix)]
        return found[0] if len(found) == 1 else ""

    return Feature(Kind.TEXT, of)


FEATURES: dict[str, Feature] = {
    "user": Feature(Kind.TEXT, lambda job, _: job.user),
    "job_name": Feature(Kind.TEXT, lambda job, _: job.job_name),
    "program": Feature(Kind.TEXT, lambda job, _: job.program),
    "named_program": Feature(Kind.TEXT, lambda job, _: _named_program(job)),
    "script_program": Feature(Kind.TEXT, lambda job, _: _script_program(job)),
    "programs": Feature(Kind.OPTIONS, lambda job, _: {"": job.programs} if job.programs else {}),
    "path": Feature(Kind.TEXT, lambda job, _: job.path),
    "executable": Feature(Kind.TEXT, lambda job, _: _executable(job)),
    "option_keys": Feature(Kind.OPTIONS, lambda job, _: dict.fromkeys(job.options, ())),
    "options": Feature(Kind.OPTIONS, lambda job, _: job.options),
    "second": _time(lambda at: at.second),
    "minute": _time(lambda at: at.minute),
    "hour": _time(lambda at: at.hour),
    "day": _time(lambda at: at.day),
    "weekday": _time(lambda at: at.weekday()),
    "nodes": Feature(Kind.NUMBER, lambda job, _: job.nodes),
    "tasks": Feature(Kind.NUMBER, lambda job, _: job.tasks),
    "tasks_per_node": Feature(Kind.NUMBER, lambda job, _: job.tasks_per_node),
    "partition": Feature(Kind.TEXT, lambda job, _: _partition(job)),
    "account": Feature(Kind.TEXT, lambda job, _: job.account),
    "directory": Feature(Kind.TEXT, lambda job, _: job.directory),
    "own_project": Feature(Kind.TEXT, lambda job, _: _own_project(job)),
    "own_place": Feature(Kind.TEXT, lambda job, _: _own_place(job)),
    "modules": Feature(Kind.TEXT, lambda job, _: "/".join(job.modules)),
    "modules_loaded": Feature(Kind.TEXT, lambda job, _: _modules_loaded(job)),
    "launcher": Feature(Kind.TEXT, lambda job, _: job.launcher),
    "script": Feature(Kind.TEXT, lambda job, _: job.script),
    "own_script": Feature(Kind.TEXT, lambda job, _: _own_script(job)),
    "build_id": Feature(Kind.TEXT, lambda job, _: job.build_id),
    "functions": Feature(Kind.TEXT, lambda job, _: job.functions),
    "imports": Feature(Kind.TEXT, lambda job, _: job.imports),
    "contents": Feature(Kind.TEXT, lambda job, _: job.contents),
    "read_pattern": _io_pattern("read"),
    "write_pattern": _io_pattern("write"),
}
OF_PROGRAM_FILE = ("build_id", "functions", "imports", "contents")
"""Names of the features that are computed from the contents of the program's file."""
OF_IO = ("read_pattern", "write_pattern")
"""Names of the features that are computed from access patterns, which most jobs and records do not have."""
