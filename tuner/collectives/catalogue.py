# SPDX-License-Identifier: Apache-2.0
"""What Open MPI's code fixes about its collectives and no build can be asked for: ids, units, and what algorithms heed.

Ids and units are those of `coll_tuned` in 4.1.x; the algorithms' names are looked up in the build.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Collective:
    """One collective.

    `id` is its number in a rules file. `per_rank`: the size that benchmarks state is one rank's part, while Open MPI
    compares a rule with that times the communicator's size. `sums`: messages are 4-byte floats, so that sizes are
    multiples of 4. `segment` and `fanout` name the algorithms (as `ompi_info` does) that heed these parameters when
    they come from a rules file; the others ignore them.

    `unsafe` names the algorithms that no file for jobs may hold, since jobs would get wrong results (seen with 4.1.4):
    those that combine contributions out of the ranks' order, before which the built-in rules ask whether the operation
    commutes and a file does not; and all of gather and scatter, where each rank looks up a rule by its own send buffer,
    which has no size in a root that gathers in place, nor in the ranks that only receive of a scatter, so that ranks
    take different algorithms for one call.
    """

    id: int
    per_rank: bool = False
    sums: bool = False
    sized: bool = True
    segment: frozenset[str] = frozenset()
    fanout: frozenset[str] = frozenset()
    unsafe: frozenset[str] = frozenset()


# The names of ids 0 to 21 in a rules file of 4.1: all that its reader accepts.
COLLECTIVE_IDS = 22

# Where an algorithm is heedless of a parameter, its points are one point to a campaign; where the code of a release
# could differ, the parameter is taken as heeded, which costs runs and never a result.
CATALOGUE: Mapping[str, Collective] = {
    "allgather": Collective(0, per_rank=True),
    "allreduce": Collective(
        2, sums=True, segment=frozenset({"segmented_ring"}), unsafe=frozenset({"ring", "segmented_ring"})
    ),
    "alltoall": Collective(3, per_rank=True),
    "barrier": Collective(6, sized=False),
    "bcast": Collective(
        7,
        segment=frozenset({"chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial"}),
        fanout=frozenset({"chain"}),
    ),
    "gather": Collective(
        9,
        per_rank=True,
        segment=frozenset({"linear_sync"}),
        unsafe=frozenset({"basic_linear", "binomial", "linear_sync"}),
    ),
    "reduce": Collective(
        11,
        sums=True,
        segment=frozenset({"chain", "pipeline", "binary", "binomial", "in-order_binary"}),
        fanout=frozenset({"chain"}),
        unsafe=frozenset({"chain", "pipeline", "binary", "binomial"}),
    ),
    "reduce_scatter": Collective(12, sums=True, unsafe=frozenset({"recursive_halving", "ring"})),
    "scatter": Collective(15, per_rank=True, unsafe=frozenset({"basic_linear", "binomial", "linear_nb"})),
}


def compared_bytes(collective: str, size: int, comm_size: int) -> int:
    """The number that Open MPI compares with a rule's size, for the size that benchmarks state."""
    kind = CATALOGUE[collective]
    if not kind.sized:
        return 0
    return size * comm_size if kind.per_rank else size
