# SPDX-License-Identifier: Apache-2.0
"""Data model of a profile, which shows how one run of an application spent its time.

Profiles are stored as JSON with a version number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from reprise.tuner.errors import TunerError
from reprise.tuner.model import touched_names

VERSION = 1

COLLECTIVE = "mpi.collective"
P2P = "mpi.p2p"
SMALL_CLASS = 16  # largest size class below 64 KiB


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Collective(_Value):
    """Totals for the slowest rank's calls of one collective and size class on communicators of one size.

    `ranks` and `nodes`: size of the communicators. `bytes`: largest size in the size class, a power of 2 minus 1.
    `total_bytes`: sum over all calls. `waiting_s`: the part of `time_s` in which the rank waited for other ranks.
    """

    kind: str
    ranks: int
    nodes: int
    bytes: int
    calls: int
    total_bytes: int
    largest_bytes: int
    time_s: float
    waiting_s: float


class Messages(_Value):
    """Totals for the messages of one size class between the slowest rank and other ranks."""

    where: Literal["onnode", "offnode", "unknown"]
    bytes: int
    calls: int
    sent: int
    total_bytes: int
    time_s: float
    waiting_s: float


class Files(_Value):
    """Totals for the reads or writes of one size class on one type of file system.

    `mpi`: whether MPI-IO made the calls. If so, their time is also part of the time of MPI-IO calls (MpiFiles).
    """

    op: Literal["read", "write"]
    filesystem: str
    bytes: int
    sequential_calls: int
    other_calls: int
    total_bytes: int
    time_s: float
    mpi: bool = False


class MpiFiles(_Value):
    """Totals for the calls of one MPI-IO operation and size class."""

    op: Literal["read", "write", "meta"]
    bytes: int
    calls: int
    total_bytes: int
    time_s: float


class Input(_Value):
    """A file whose size was at least 1 MiB when a process opened it for reading."""

    path: str
    bytes: int


class Threads(_Value):
    """Threads of the slowest rank.

    `most`: number of threads. `busy`: mean number of processors in use. `libraries`: OpenMP, BLAS and similar libraries
    that are loaded.
    """

    most: int
    busy: float
    processors: int
    online: int
    affinity: str
    environment: Mapping[str, str]
    libraries: Sequence[str]


class Memory(_Value):
    """Page faults, peak memory and involuntary context switches of the slowest rank."""

    minor_faults: int
    major_faults: int
    fault_us: float
    peak_bytes: int
    involuntary_switches: int


class Slowest(_Value):
    """The slowest rank, for which the others wait: it spends the most time on anything other than waiting.

    `rank`: None if the program does not use MPI.
    """

    rank: int | None
    host: str
    program: str
    wall_s: float
    waiting_s: float


class Profile(_Value):
    """Profile of a job.

    `elapsed_s`: time from the start of the first process to the end of the last process. `shares`: disjoint shares of
    this time, by name; shares of communication include only transfer. `waiting`: share of this time in which the
    slowest rank waited for other ranks. `waiting_calls`: number of calls, by kind, for which waiting was measured; if
    there are no such calls, all communication counts as transfer. `tasks`: largest number of tasks that srun started in
    one step; 0 without steps. `most_on_node`: largest number of ranks on one node in a run with all `ranks`. `tasks`
    and `most_on_node` are None in a profile that an earlier release of Reprise made.
    """

    version: Literal[1] = 1
    elapsed_s: float
    processes: int
    ranks: int
    nodes: int
    programs: Sequence[str]
    slowest: Slowest
    shares: Mapping[str, float]
    waiting: float
    waiting_calls: Mapping[str, int]
    collectives: Sequence[Collective]
    messages: Sequence[Messages]
    files: Sequence[Files]
    mpi_files: Sequence[MpiFiles]
    inputs: Sequence[Input] = ()
    tasks: int | None = None
    most_on_node: int | None = None
    meta: Mapping[str, tuple[int, float]]
    threads: Threads
    memory: Memory
    remarks: Sequence[str]

    def share(self, name: str) -> float:
        """Return the sum of the shares of `name` and of all more specific names, which begin with `name` and a dot."""
        return sum(value for one, value in self.shares.items() if touched_names.touches(name, one))

    @property
    def ranks_share_nodes(self) -> bool:
        """Whether several ranks, or tasks started by srun, ran on the same node; true if this is unknown."""
        ranks = self.ranks or self.tasks
        return ranks is None or ranks > self.nodes

    @property
    def layout(self) -> str:
        """Text with the numbers of ranks and nodes, or, without MPI, with the number of processes."""
        if not self.ranks:
            return f"{self.processes} processes"
        spread = "" if self.is_even else f" (up to {self.most_on_node} on one)"
        return f"{self.ranks} ranks on {self.nodes} nodes{spread}"

    @property
    def is_even(self) -> bool:
        """Whether all nodes had an equal number of ranks; true if this is unknown."""
        return (self.most_on_node or 0) * self.nodes <= self.ranks

    def to_json(self) -> dict[str, Any]:
        """Return the profile as JSON."""
        return self.model_dump(mode="json")

    def without_names(self) -> dict[str, Any]:
        """Return the profile as JSON without the names of the user's files, to be stored with a record."""
        return self.model_dump(mode="json", exclude={"inputs"})


def read_profile(document: Mapping[str, Any], source: str) -> Profile:
    """Read a profile from its JSON.

    Raise TunerError if the profile is invalid; the message names it as `source`.
    """
    try:
        return Profile.model_validate(document)
    except ValidationError as error:
        raise TunerError(
            f"{source}: not a profile of version {VERSION}: create one with `reprise tune profile`"
        ) from error
