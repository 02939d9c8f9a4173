# SPDX-License-Identifier: Apache-2.0
"""Read and check the reports that `reprise-witness.so` writes (report.c), one file per process."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from reprise.tuner.errors import TunerError

LIBRARY = "reprise-witness.so"
VARIABLE = "REPRISE_PROFILE"  # variable whose value is the directory to which processes write reports
REPORTS_MAX = 20_000  # maximum number of files to read; a parallel application has fewer processes
REPORT_BYTES = 8 * 1024 * 1024  # maximum bytes to read of a file; the witness writes at most a tenth of that
TOTAL_BYTES = 2 * 1024**3  # maximum bytes of all files: some 4,800 ranks with the maximum number of samples


def _printable(text: str) -> str:
    """Replace unprintable characters with question marks.

    The name of a program may contain any characters, and reports are shown on terminals.
    """
    return "".join(character if character.isprintable() else "?" for character in text)


Count: TypeAlias = Annotated[int, Field(ge=-(2**63), lt=2**64)]
SizeClass: TypeAlias = Annotated[int, Field(ge=0, lt=64)]
Word: TypeAlias = Annotated[str, Field(max_length=4096), AfterValidator(_printable)]
InputPath: TypeAlias = Annotated[str, Field(max_length=1024, pattern=r"^/[\x01-\xff]*$")]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a newer witness may write additional keys


class FileCalls(_Report):
    """Reads or writes of one size class on one type of file system, counted together.

    `fs`: type of the file system, f_type of statfs. `mpi`: whether MPI made the calls. `size_class` k: calls of 2^(k-1)
    to 2^k - 1 bytes each.
    """

    op: Literal["read", "write"]
    fs: Count
    sequential: bool
    mpi: bool
    size_class: SizeClass = Field(alias="class")
    calls: Count
    bytes: Count
    ns: Count


class Shape(_Report):
    """A group of ranks that communicators consist of.

    `members`: the group's ranks in MPI_COMM_WORLD; only the group's first member reports them.
    """

    shape: Count
    id: Word
    size: Count
    world: bool
    members: list[Count] | None = None


class CollectiveCalls(_Report):
    """Calls of one collective, of one size class, on communicators with one group of ranks.

    `largest`: for collectives with one count per rank, such as alltoallv, the largest count in bytes.
    """

    kind: Word
    shape: Count
    size_class: SizeClass = Field(alias="class")
    calls: Count
    bytes: Count
    largest: Count
    ns: Count


class MessageCalls(_Report):
    """Messages of one size class to and from one rank, `peer`, which is -1 if it is unknown.

    `sent`: number of those `calls` that sent a message.
    """

    peer: Count
    size_class: SizeClass = Field(alias="class")
    calls: Count
    sent: Count
    bytes: Count
    ns: Count


class MpiFileCalls(_Report):
    """Calls of one MPI-IO operation and size class."""

    op: Literal["read", "write", "meta"]
    size_class: SizeClass = Field(alias="class")
    calls: Count
    bytes: Count
    ns: Count


class Sampled(NamedTuple):
    """One sampled call, with its times in nanoseconds of the host's clock.

    `key` is equal on all ranks that took part in the communication. `other`: root or peer as a rank of MPI_COMM_WORLD;
    -1 if there is none. `arrived`: time at which the rank made the call. `blocked`: time at which the rank began to
    wait for the call's completion, equal to `arrived` for blocking calls. `left`: time at which this wait ended.
    """

    key: Annotated[str, Field(pattern="^[0-9a-f]{1,16}$")]
    kind: Word
    is_send: Count
    size_class: SizeClass
    other: Count
    arrived: Count
    blocked: Count
    left: Count


class Samples(_Report):
    """Sampled calls of a process.

    `stride`: one of `stride` calls is sampled.
    """

    stride: Annotated[int, Field(ge=1, lt=2**32)]
    calls: list[Sampled]


class MpiReport(_Report):
    """Report on MPI in one process, which is one rank.

    `kinds`: number of calls and nanoseconds by kind of call.
    """

    rank: Count
    ranks: Count
    threads: bool
    begun: Count
    ended: Count
    init: Count
    lost: Count
    unnumbered: Count
    kinds: dict[Word, tuple[Count, Count]]
    shapes: list[Shape]
    collectives: list[CollectiveCalls]
    messages: list[MessageCalls]
    mpi_files: list[MpiFileCalls]
    collective_samples: Samples
    message_samples: Samples


class ProcessReport(_Report):
    """Report of one process.

    Times are in nanoseconds; `start` is counted from 1970. `fault`: time of one page fault.
    """

    version: Literal[1]
    host: Word
    pid: Count
    parent: Count
    program: Word
    start: Count
    wall: Count
    cpu: Count
    system: Count
    main_cpu: Count
    minor_faults: Count
    major_faults: Count
    fault: Count
    voluntary: Count
    involuntary: Count
    threads: Count
    processors: Count
    online: Count
    peak_rss: Count
    rchar: Count
    wchar: Count
    read_bytes: Count
    write_bytes: Count
    affinity: Word
    libraries: list[Word]
    environment: dict[Word, Word]
    files: list[FileCalls]
    inputs: list[tuple[InputPath, Count]] = []  # name (one character per byte) and size of each file read
    meta: dict[Word, tuple[Count, Count]]
    mpi: MpiReport | None = None

    @property
    def end(self) -> int:
        """Time of the process's end, in nanoseconds since 1970."""
        return self.start + self.wall


def _text(path: Path) -> bytes:
    """Return the content of a report file, up to REPORT_BYTES.

    The directory may belong to a user and contain anything, so a symbolic link or a pipe counts as an empty report.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return b""
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(REPORT_BYTES)


def read_reports(directory: Path) -> Sequence[ProcessReport]:
    """Return the reports of all processes in a directory, in order of their start.

    Raise TunerError if there is no report, or a report cannot be read or is invalid.
    """
    found = []
    total = 0
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix == ".json")[:REPORTS_MAX]
        for path in paths:
            text = _text(path)
            total += len(text)
            if total > TOTAL_BYTES:
                raise TunerError(
                    f"{directory}: the reports exceed {TOTAL_BYTES >> 20} MiB in total: profile a run with fewer "
                    "ranks, and remove files that the witness did not write"
                )
            found.append(_checked(path, text))
    except OSError as error:
        raise TunerError(
            f"{directory}: cannot be read ({error.strerror}): ask its owner, or profile the application again"
        ) from error
    if not paths:
        raise TunerError(
            f"{directory}: no process wrote a profile: the witness cannot be loaded into static programs, and nodes "
            "need access to this directory: set tuner.work to a directory on a shared file system"
        )
    return sorted(found, key=lambda one: (one.start, one.host, one.pid))


def _checked(path: Path, text: bytes) -> ProcessReport:
    try:
        return ProcessReport.model_validate_json(text)
    except ValidationError as error:
        raise TunerError(
            f"{path}: not a report of this release's witness: install this release's {LIBRARY} (`make install-tools`)"
        ) from error
