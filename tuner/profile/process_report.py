# SPDX-License-Identifier: Apache-2.0
"""Report of one process: reads and checks the files that `reprise-witness.so` writes (report.c)."""

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
VARIABLE = "REPRISE_PROFILE"  # directory that processes write to
REPORTS_MAX = 20_000  # files that are read; a parallel application has fewer processes
REPORT_BYTES = 8 * 1024 * 1024  # per file; the witness writes at most a tenth of that
TOTAL_BYTES = 2 * 1024**3  # all files together: some 4,800 ranks with the maximum number of samples


def _printable(text: str) -> str:
    """Replace characters that are not printable.

    A program may have any name, and reports are shown on terminals.
    """
    return "".join(character if character.isprintable() else "?" for character in text)


Count: TypeAlias = Annotated[int, Field(ge=-(2**63), lt=2**64)]
SizeClass: TypeAlias = Annotated[int, Field(ge=0, lt=64)]
Word: TypeAlias = Annotated[str, Field(max_length=4096), AfterValidator(_printable)]
InputPath: TypeAlias = Annotated[str, Field(max_length=1024, pattern=r"^/[\x01-\xff]*$")]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a newer witness may write more


class FileCalls(_Report):
    """Reads or writes of one sort.

    `size_class` k: 2^(k-1) to 2^k - 1 bytes a call. `fs`: f_type of statfs. `mpi`: made by MPI.
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
    """A group of ranks.

    `members`: their ranks in MPI_COMM_WORLD, if reported by the group's first member.
    """

    shape: Count
    id: Word
    size: Count
    world: bool
    members: list[Count] | None = None


class CollectiveCalls(_Report):
    """Calls of one collective by one shape of communicator.

    `largest`: the largest single count in bytes.
    """

    kind: Word
    shape: Count
    size_class: SizeClass = Field(alias="class")
    calls: Count
    bytes: Count
    largest: Count
    ns: Count


class MessageCalls(_Report):
    """Messages to and from one rank, -1 for an unknown one.

    `sent`: number of the `calls` that sent.
    """

    peer: Count
    size_class: SizeClass = Field(alias="class")
    calls: Count
    sent: Count
    bytes: Count
    ns: Count


class MpiFileCalls(_Report):
    """Calls of MPI-IO of one size class."""

    op: Literal["read", "write", "meta"]
    size_class: SizeClass = Field(alias="class")
    calls: Count
    bytes: Count
    ns: Count


class Sampled(NamedTuple):
    """One sampled call with its times, in nanoseconds of the host's clock.

    `key` is equal on all ranks that took part. `other`: root or peer, as a rank of MPI_COMM_WORLD; -1 for none.
    `blocked`: time at which the rank began to wait.
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
    """Sampled calls.

    `stride`: number of calls per sample.
    """

    stride: Annotated[int, Field(ge=1, lt=2**32)]
    calls: list[Sampled]


class MpiReport(_Report):
    """MPI in a process.

    `kinds`: calls and nanoseconds by kind.
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
    """A process.

    Times are in nanoseconds; `start` is since 1970. `fault`: cost of one page fault.
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
    inputs: list[tuple[InputPath, Count]] = []  # name (one character per byte) and size of each file that it reads
    meta: dict[Word, tuple[Count, Count]]
    mpi: MpiReport | None = None

    @property
    def end(self) -> int:
        """End of the process, in nanoseconds since 1970."""
        return self.start + self.wall


def _text(path: Path) -> bytes:
    """Return a report, up to its maximum length.

    Staff read users' directories, which may contain anything: a link or a pipe counts as an empty report.
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
    """Return all processes' reports in a directory, ordered by start.

    Raise TunerError if there is none or one is unreadable.
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
