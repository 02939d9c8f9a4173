# SPDX-License-Identifier: Apache-2.0
"""A profile: how one run of an application spent its time.

It is stored as JSON with a version.
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
SMALL_CLASS = 16  # the largest class below 64 KiB


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Collective(_Value):
    """Calls of one collective by communicators of one size; calls, bytes and seconds are those of the slowest rank.

    `bytes`: largest size of the class, a power of 2 minus 1. `waiting_s`: the part of `time_s` spent waiting.
    `total_bytes`: sum over all calls.
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
    """Messages of one size class between the slowest rank and others."""

    where: Literal["onnode", "offnode", "unknown"]
    bytes: int
    calls: int
    sent: int
    total_bytes: int
    time_s: float
    waiting_s: float


class Files(_Value):
    """Reads or writes of one size class on one type of file system.

    `mpi`: whether MPI-IO made the calls; their time is then also part of the time of the MPI-IO calls (MpiFiles).
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
    """Calls of MPI-IO of one size class."""

    op: Literal["read", "write", "meta"]
    bytes: int
    calls: int
    total_bytes: int
    time_s: float


class Input(_Value):
    """A file of 1 MiB or more that existed when a process opened it for reading."""

    path: str
    bytes: int


class Threads(_Value):
    """Threads of the slowest rank.

    `busy`: mean number of processors in use. `libraries`: OpenMP, BLAS and similar libraries.
    """

    most: int
    busy: float
    processors: int
    online: int
    affinity: str
    environment: Mapping[str, str]
    libraries: Sequence[str]


class Memory(_Value):
    """Page faults and peak memory of the slowest rank."""

    minor_faults: int
    major_faults: int
    fault_us: float
    peak_bytes: int
    involuntary_switches: int


class Slowest(_Value):
    """The rank with the most time of its own, which the others wait for.

    `rank`: None if the program does not use MPI.
    """

    rank: int | None
    host: str
    program: str
    wall_s: float
    waiting_s: float


class Profile(_Value):
    """Profile of a job.

    `elapsed_s`: time from the start of the first process to the end of the last one. `shares`: disjoint fractions of
    this time, by name; those of communication include transfer only. `waiting`: share in which the slowest rank waited
    for others. `tasks`: largest number of tasks that one step of srun started, 0 without a step; None in a profile of
    an earlier release. `most_on_node`: largest number of ranks on one node, in a run with all `ranks`; None in a
    profile of an earlier release. `waiting_calls`: number of calls, by kind, for which waiting was measured; without
    any, all time counts as transfer.
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
        """Return the share of `name` and all names below it."""
        return sum(value for one, value in self.shares.items() if touched_names.touches(name, one))

    @property
    def ranks_share_nodes(self) -> bool:
        """Whether several ranks, or tasks that srun started, ran on one node; true if unknown."""
        ranks = self.ranks or self.tasks
        return ranks is None or ranks > self.nodes

    @property
    def layout(self) -> str:
        """The ranks and nodes in words; without MPI, the number of processes."""
        if not self.ranks:
            return f"{self.processes} processes"
        spread = "" if self.is_even else f" (up to {self.most_on_node} on one)"
        return f"{self.ranks} ranks on {self.nodes} nodes{spread}"

    @property
    def is_even(self) -> bool:
        """Whether all nodes had an equal number of ranks; true if unknown."""
        return (self.most_on_node or 0) * self.nodes <= self.ranks

    def to_json(self) -> dict[str, Any]:
        """Return the profile as JSON."""
        return self.model_dump(mode="json")

    def without_names(self) -> dict[str, Any]:
        """Return the profile as JSON without the names of the user's files.

        It is kept with a record.
        """
        return self.model_dump(mode="json", exclude={"inputs"})


def read_profile(document: Mapping[str, Any], source: str) -> Profile:
    """Read a profile from its JSON.

    Raise TunerError if it is invalid; `source` names it in the message.
    """
    try:
        return Profile.model_validate(document)
    except ValidationError as error:
        raise TunerError(
            f"{source}: not a profile of version {VERSION}: create one with `reprise tune profile`"
        ) from error
