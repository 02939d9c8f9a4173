# SPDX-License-Identifier: Apache-2.0
"""Names of operations that components can affect, and that profiles measure.

A name covers itself and all names that begin with it and a dot: `mpi.io` covers `mpi.io.read`. A component may restrict
a name to jobs with several ranks on one node.
"""

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
"""Collectives of MPI, in the order of their ids in Open MPI's rules files."""

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
"""The most specific names. Small reads and writes have less than 64 KiB; `compute` is the rest of the run time."""


ON_SHARED_NODES = " where ranks share nodes"
"""Suffix of a declared name, for operations that the component cannot affect if each rank has a node to itself."""


def is_known(name: object) -> bool:
    """Return whether a component may declare this name."""
    if not isinstance(name, str):
        return False
    return any(touches(name.removesuffix(ON_SHARED_NODES), leaf) for leaf in LEAVES)


def that_hold(names: Iterable[str], *, ranks_share_nodes: bool) -> Sequence[str]:
    """Return the operations that a component can affect in a job, without the suffix `ON_SHARED_NODES`."""
    return [
        name.removesuffix(ON_SHARED_NODES) for name in names if ranks_share_nodes or not name.endswith(ON_SHARED_NODES)
    ]


def touches(name: str, measured: str) -> bool:
    """Return whether `name` covers `measured`, a name in a profile."""
    return measured == name or measured.startswith(f"{name}.")


def objection(names: object) -> str:
    """Return the problem with a component's list of names, as one line; empty if there is none."""
    if not isinstance(names, list):
        return "must be a list of names"
    if unknown := next((name for name in names if not is_known(name)), None):
        return f"{unknown!r} does not occur in profiles: choose from {', '.join(_families(LEAVES))}"
    return ""


def _families(leaves: Iterable[str]) -> list[str]:
    """Return the most specific names (`leaves`), with one name in place of those of all collectives."""
    return list(dict.fromkeys("mpi.collective.KIND" if leaf.startswith("mpi.collective.") else leaf for leaf in leaves))
