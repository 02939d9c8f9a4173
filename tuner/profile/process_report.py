# SPDX-License-Identifier: Apache-2.0
"""Read and check the reports written by `reprise-witness.so` (report.c), one file per process."""

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
VARIABLE = "REPRISE_PROFILE"  # environment variable with the directory to which processes write their reports
REPORTS_MAX = 20_000  # maximum number of files to read; a parallel application has fewer processes
REPORT_BYTES = 8 * 1024 * 1024  # maximum number of bytes of a file to read; the witness writes at most a tenth of that
TOTAL_BYTES = 2 * 1024**3  # maximum bytes of all files; enough for some 4,800 ranks with the maximum number of samples


def _printable(text: str) -> str:
    """Replace unprintable characters with question marks.

    Names of programs may contain any characters, and profiles are shown on terminals.
    """
    return "".join(character if character.isprintable() else "?" for character in text)


Count: TypeAlias = Annotated[int, Field(ge=-(2**63), lt=2**64)]
SizeClass: TypeAlias = Annotated[int, Field(ge=0, lt=64)]
Word: TypeAlias = Annotated[str, Field(max_length=4096), AfterValidator(_printable)]
InputPath: TypeAlias = Annotated[str, Field(max_length=1024, pattern=r"^/[\x01-\xff]*$")]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a newer witness may write additional keys


class FileCalls(_Report):
    """Totals for the reads or writes of one size class on one type of file system.

    `fs`: type of the file system, as in f_type of statfs(2). `mpi`: whether MPI made the calls. Calls of `size_class` k
    have 2^(k-1) to 2^k - 1 bytes each.
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
    """Group of ranks that form one or more communicators.

    `members`: the group's ranks in MPI_COMM_WORLD, reported only by the group's first member.
    """

    shape: Count
    id: Word
    size: Count
    world: bool
    members: list[Count] | None = None


class CollectiveCalls(_Report):
    """Totals for the calls of one collective and size class on communicators with the same group of ranks.

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
    """Totals for the messages of one size class to and from the rank `peer`, which is -1 if unknown.

    `sent`: number of calls that sent a message.
    """

    peer: Count
    size_class: SizeClass = Field(alias="class")
    calls: Count
    sent: Count
    bytes: Count
    ns: Count


class MpiFileCalls(_Report):
    """Totals for the calls of one MPI-IO operation and size class."""

    op: Literal["read", "write", "meta"]
    size_class: SizeClass = Field(alias="class")
    calls: Count
    bytes: Count
    ns: Count


class Sampled(NamedTuple):
    """One sampled call, with its times in nanoseconds by the host's clock.

    `key` is equal on all ranks that took part in the communication. `other`: root or peer as a rank in MPI_COMM_WORLD;
    -1 without a root or peer. `arrived`: time at which the rank made the call. `blocked`: time at which the rank began
    to wait for the call's completion; for blocking calls, equal to `arrived`. `left`: time at which the wait ended.
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
    """Sampled calls of a process; one of every `stride` calls is sampled."""

    stride: Annotated[int, Field(ge=1, lt=2**32)]
    calls: list[Sampled]


class MpiReport(_Report):
    """MPI part of the report of a process that is one rank.

    `kinds`: number of calls and time in nanoseconds, by kind of call.
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

    Times are in nanoseconds; `start` is the time since 1970. `fault`: duration of one page fault.
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
    inputs: list[tuple[InputPath, Count]] = []  # name (one character per byte) and size of each file that was read
    meta: dict[Word, tuple[Count, Count]]
    mpi: MpiReport | None = None

    @property
    def end(self) -> int:
        """Time of the process's end, in nanoseconds since 1970."""
        return self.start + self.wall


def _text(path: Path) -> bytes:
    """Return the content of a report file, up to REPORT_BYTES.

    The directory may belong to a user and contain anything, so symbolic links and pipes are treated as empty reports.
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
    """Return the reports in a directory, in order of the processes' start times.

    Raise TunerError if there is no report, or if a report cannot be read or is invalid.
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
