# SPDX-License-Identifier: Apache-2.0
"""A profile: what one run of an application spent its time on. It is kept as JSON with a version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from reprise.tuner.errors import TunerError
from reprise.tuner.model import touched_names

VERSION = 1

COLLECTIVE = "mpi.collective"
P2P = "mpi.p2p"
SMALL_CLASS = 16  # classes up to it are below 64 KiB


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Collective(_Value):
    """Calls of one collective by communicators of one size. Calls, bytes and seconds are those of the slowest rank.

    `bytes`: the largest of the size class, a power of 2 less 1; `waiting_s`: of `time_s`; `total_bytes`: of all calls.
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
    """Reads or writes of one size class on one type of file system; `mpi`: below MPI-IO, whose time includes them."""

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
    """A file of 1 MiB or more that was there when a process opened it for reading."""

    path: str
    bytes: int


class Threads(_Value):
    """Threads of the slowest rank. `busy`: mean number of processors in use; `libraries`: OpenMP, BLAS and the like."""

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
    """The rank that the others wait for: the one with the most time of its own. `rank`: None for no MPI program."""

    rank: int | None
    host: str
    program: str
    wall_s: float
    waiting_s: float


class Profile(_Value):
    """What a job spent its time on.

    `shares` by name are of `elapsed_s`, the time from the first process's start to the last one's end; they are
    disjoint, and transfer alone for communication. `waiting`: the share in which the slowest rank waited for others.
    `tasks`: most that one step of srun started, 0 without one; None in a profile of an earlier release.
    `most_on_node`: most ranks on one node, of a run with all `ranks`; None in a profile of an earlier release.
    `waiting_calls`: on how many calls, by kind, waiting was measured; without any, all time counts as transfer.
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
        """The share of all names that are `name` or lie below it."""
        return sum(value for one, value in self.shares.items() if touched_names.touches(name, one))

    @property
    def ranks_share_nodes(self) -> bool:
        """Whether several ranks, or tasks that srun started, are on one node; where that is not known, it counts as
        so."""
        ranks = self.ranks or self.tasks
        return ranks is None or ranks > self.nodes

    @property
    def layout(self) -> str:
        """Where its ranks were, in words; of a program without MPI, how many processes there were."""
        if not self.ranks:
            return f"{self.processes} processes"
        spread = "" if self.is_even else f" (up to {self.most_on_node} on one)"
        return f"{self.ranks} ranks on {self.nodes} nodes{spread}"

    @property
    def is_even(self) -> bool:
        """Whether no node is known to have more ranks than another."""
        return (self.most_on_node or 0) * self.nodes <= self.ranks

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def without_names(self) -> dict[str, Any]:
        """The same without names of its user's files, to be kept with a record."""
        return self.model_dump(mode="json", exclude={"inputs"})


def read_profile(document: Mapping[str, Any], source: str) -> Profile:
    """A profile from its JSON; `source` names it in an error. Raises TunerError."""
    try:
        return Profile.model_validate(document)
    except ValidationError as error:
        raise TunerError(
            f"{source}: is no profile of version {VERSION}: make it with `reprise tune profile`"
        ) from error
