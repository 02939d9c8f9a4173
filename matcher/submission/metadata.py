# SPDX-License-Identifier: Apache-2.0
"""Metadata of a job at its submission (Robert 2021, table 7.1, and what linkage needs in addition)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

import msgspec
from pydantic import Field, TypeAdapter

LAST_SECOND = 253_402_214_400  # of the year 9999, in any time zone
Seconds = Annotated[float, Field(ge=0, le=LAST_SECOND), msgspec.Meta(ge=0, le=LAST_SECOND)]

NOT_QUICK = (msgspec.MsgspecError, RecursionError, TypeError, ValueError)
"""Exceptions of msgspec for input that it cannot read.

Pydantic then reads it or reports the error, in three times the time.
"""


@dataclasses.dataclass(frozen=True)
class JobMetadata:
    """A job's a-priori metadata. None, or an empty string, means unknown; unknown is never guessed.

    `submit_time` is in Unix seconds (UTC). `program` is the base name of the program that does the job's work, `path`
    its path as written (after variable expansion if the script itself sets the variable), `options` its options: key
    (with dashes stripped) to the tuple of its values; positional arguments are under "". `programs` are the base names
    of all programs that the job is seen to start, without utilities, in order (matcher.submission.program). `launcher`
    is the launcher that starts it ("srun", "jsrun", ...; see matcher.submission.launchers). `placement` is "node" if
    the job asks Slurm to deal tasks round the nodes, "core" if it asks to fill a node before the next. `modules` are
    the names of loaded environment modules. `script` is a sketch of the batch script (matcher.submission.sketch);
    `script_path` is its absolute path, for people who tune the job, and is not compared. `build_id`, `functions`,
    `imports` and `contents` identify the program (matcher.submission.program_identity); `runtime` is the loader or
    sanitizer of the program that a preloaded library may conflict with. `processors` is the number that Slurm allocates
    to the job on each node and `memory` the MiB that the job may use there (0: all of it), both known once it runs.
    None of these three is compared.
    """

    user: str
    job_name: str = ""
    program: str = ""
    path: str = ""
    options: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    submit_time: Seconds = 0.0
    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    partition: str = ""
    account: str = ""
    directory: str = ""
    launcher: str = ""
    placement: str = ""
    modules: tuple[str, ...] = ()
    script: str = ""
    script_path: str = ""
    build_id: str = ""
    functions: str = ""
    imports: str = ""
    contents: str = ""
    runtime: str = ""
    programs: tuple[str, ...] = ()
    processors: int | None = None
    memory: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary; `from_json` is its inverse."""
        options = {key: list(values) for key, values in self.options.items()}
        return {**vars(self), "options": options, "modules": list(self.modules), "programs": list(self.programs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JobMetadata:
        """Read the output of `to_json`, ignoring keys of newer versions. Raises pydantic's ValidationError."""
        return _reader().validate_python(data)

    @classmethod
    def from_text(cls, text: str) -> JobMetadata:
        """Read the JSON text of what `to_json` returns. Raises what `from_json` raises."""
        try:
            return _quick_reader().decode(text)
        except NOT_QUICK:
            return _reader().validate_json(text)


@cache
def _quick_reader() -> msgspec.json.Decoder[JobMetadata]:
    return msgspec.json.Decoder(JobMetadata)


@cache
def _reader() -> TypeAdapter[JobMetadata]:
    return TypeAdapter(JobMetadata)
