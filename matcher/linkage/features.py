# SPDX-License-Identifier: Apache-2.0
"""What a model can compare of a job: named values out of its metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Any

from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import is_script, placed_path


class Kind(StrEnum):
    """What a feature's values are: text ("" is unknown), numbers (None is unknown), or options."""

    TEXT = "text"
    NUMBER = "number"
    OPTIONS = "options"


@dataclass(frozen=True)
class Feature:
    """`of(metadata, zone)` is the value; `zone` None is this host's time zone."""

    kind: Kind
    of: Callable[[JobMetadata, tzinfo | None], Any]


def _time(read: Callable[[datetime], int]) -> Feature:
    return Feature(Kind.NUMBER, lambda job, zone: read(_local_time(job.submit_time, zone)))


@lru_cache(maxsize=2048)  # a job is asked for five of its parts, and records by the thousand for one after the other
def _local_time(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, zone)


def _executable(job: JobMetadata) -> str:
    """Where the program lies; of a script also its first argument, which often says what it is to run."""
    path = placed_path(job)
    return "/".join([path, *job.options.get("", ())[:1]]) if is_script(job) else path


FEATURES: dict[str, Feature] = {
    "user": Feature(Kind.TEXT, lambda job, _: job.user),
    "job_name": Feature(Kind.TEXT, lambda job, _: job.job_name),
    "program": Feature(Kind.TEXT, lambda job, _: job.program),
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
    "partition": Feature(Kind.TEXT, lambda job, _: job.partition),
    "account": Feature(Kind.TEXT, lambda job, _: job.account),
    "directory": Feature(Kind.TEXT, lambda job, _: job.directory),
    "modules": Feature(Kind.TEXT, lambda job, _: "/".join(job.modules)),
    "launcher": Feature(Kind.TEXT, lambda job, _: job.launcher),
    "script": Feature(Kind.TEXT, lambda job, _: job.script),
    "build_id": Feature(Kind.TEXT, lambda job, _: job.build_id),
    "functions": Feature(Kind.TEXT, lambda job, _: job.functions),
    "imports": Feature(Kind.TEXT, lambda job, _: job.imports),
    "contents": Feature(Kind.TEXT, lambda job, _: job.contents),
}
OF_PROGRAM_FILE = ("build_id", "functions", "imports", "contents")
"""The features that are read from the program's file."""
