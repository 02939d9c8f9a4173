# SPDX-License-Identifier: Apache-2.0
"""Metadata of a job at its submission, with the fields of Robert 2021, table 7.1, and others for linkage."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

import msgspec
from pydantic import Field, TypeAdapter

LAST_SECOND = 253_402_214_400  # Unix time that is before the end of the year 9999 in every time zone
Seconds = Annotated[float, Field(ge=0, le=LAST_SECOND), msgspec.Meta(ge=0, le=LAST_SECOND)]

NOT_QUICK = (msgspec.MsgspecError, RecursionError, TypeError, ValueError)
"""Exceptions that msgspec raises for input that it cannot read.

Such input is then read by pydantic, which takes three times as long, or reports the error.
"""


@dataclasses.dataclass(frozen=True)
class JobMetadata:
    """Metadata of a job, mostly known before the job runs; unknown values are None or empty strings, never guesses.

    `submit_time` is in Unix seconds (UTC). `program` is the base name of the program that does the job's work. `path`
    is the program's path as written (after variable expansion if the script itself sets the variable). `options` maps
    each of the program's options, with dashes stripped, to the tuple of its values; positional arguments are under "".
    `programs` are the base names of all programs that the job visibly starts, without utilities, in order
    (matcher.submission.program). `launcher` is the launcher that starts the program ("srun", "jsrun", ...; see
    matcher.submission.launchers). `placement` is "node" if the job asks Slurm to distribute tasks over the nodes in
    turn, "core" if it asks Slurm to fill each node before the next. `modules` are the names of loaded environment
    modules. `script` is a sketch of the batch script (matcher.submission.sketch); `script_path` is the script's
    absolute path, for people who tune the job; it is not compared. `build_id`, `functions`, `imports` and `contents`
    identify the program (matcher.submission.program_identity); `runtime` is the program's loader or sanitizer if a
    preloaded library may conflict with it. `mpi_signs` are signs of the MPI that the job uses, in addition to the
    modules (matcher.submission.mpi_signs), and `mpi_library` is the MPI library that the program's file needs.
    `io_patterns` are kinds of accesses, such as `write/shared/strided`: for a tuned job those of its record, for a new
    job those that I/O forwarders saw in earlier jobs of the user with the same program (matcher.detection.usual_kinds).
    `processors` is the number of processors that Slurm allocates to the job on each node. `memory` is the memory that
    the job may use on each node, in MiB; 0 means all memory of the node. `processors` and `memory` are known only once
    the job runs. `gpus` is True if the job visibly gets GPUs. `runtime`, `mpi_signs`, `mpi_library`, `processors`,
    `memory` and `gpus` are not compared.
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
    gpus: bool = False
    mpi_signs: tuple[str, ...] = ()
    mpi_library: str = ""
    io_patterns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary; `from_json` is its inverse."""
        options = {key: list(values) for key, values in self.options.items()}
        lists = {name: list(getattr(self, name)) for name in ("modules", "programs", "mpi_signs", "io_patterns")}
        return {**vars(self), "options": options, **lists}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JobMetadata:
        """Read the output of `to_json`, ignoring keys of newer versions. Raises pydantic's ValidationError."""
        return _reader().validate_python(data)

    @classmethod
    def from_text(cls, text: str) -> JobMetadata:
        """Read the output of `to_json` as JSON text. Raises the same errors as `from_json`."""
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
