# SPDX-License-Identifier: Apache-2.0
"""The names of what a component can touch, as a profile measures it. A name stands for all that begin with it and a
dot. A component may say that it touches something only where several ranks of a job are on one node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

COLLECTIVES = (
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
    "scatterv",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
)
"""The collectives of MPI, in the order of their ids in Open MPI's rules files."""

LEAVES: tuple[str, ...] = (
    *(f"mpi.collective.{call}{kind}" for call in ("", "i") for kind in COLLECTIVES),
    "mpi.p2p.offnode",
    "mpi.p2p.onnode",
    "mpi.io.read",
    "mpi.io.write",
    "io.read.small",
    "io.read.large",
    "io.write.small",
    "io.write.large",
    "io.meta",
    "threads",
    "memory",
    "compute",
)
"""The most exact names. Small reads and writes are those of less than 64 KiB; `compute` is what remains."""


ON_SHARED_NODES = " where ranks share nodes"
"""Behind a name of a component's: a rank that has its node to itself has no other place to go there."""


def is_known(name: object) -> bool:
    """Whether a component may say that it touches this."""
    if not isinstance(name, str):
        return False
    return any(touches(name.removesuffix(ON_SHARED_NODES), leaf) for leaf in LEAVES)


def that_hold(names: Iterable[str], *, ranks_share_nodes: bool) -> Sequence[str]:
    """What a component can touch in a job, without the conditions."""
    return [
        name.removesuffix(ON_SHARED_NODES) for name in names if ranks_share_nodes or not name.endswith(ON_SHARED_NODES)
    ]


def touches(name: str, measured: str) -> bool:
    """Whether `measured`, a name in a profile, is what `name` stands for."""
    return measured == name or measured.startswith(f"{name}.")


def objection(names: object) -> str:
    """What is wrong with a component's list of names, as one line; empty where nothing is."""
    if not isinstance(names, list):
        return "must be a list of names"
    if unknown := next((name for name in names if not is_known(name)), None):
        return f"{unknown!r} is nothing that a profile shows: known are {', '.join(_families(LEAVES))}"
    return ""


def _families(leaves: Iterable[str]) -> list[str]:
    """The leaves, with one name for all collectives."""
    return list(dict.fromkeys("mpi.collective.KIND" if leaf.startswith("mpi.collective.") else leaf for leaf in leaves))
