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
    they come from a rules file; the others ignore them. `reorders` names the algorithms that combine contributions out
    of the ranks' order. The built-in rules ask whether the operation commutes before they take one of these; a rules
    file does not, and a job with an operation that does not commute would get a wrong result (seen with 4.1.4).
    """

    id: int
    per_rank: bool = False
    sums: bool = False
    sized: bool = True
    segment: frozenset[str] = frozenset()
    fanout: frozenset[str] = frozenset()
    reorders: frozenset[str] = frozenset()


# The names of ids 0 to 21 in a rules file of 4.1: all that its reader accepts.
COLLECTIVE_IDS = 22

# Where an algorithm is heedless of a parameter, its points are one point to a campaign; where the code of a release
# could differ, the parameter is taken as heeded, which costs runs and never a result.
CATALOGUE: Mapping[str, Collective] = {
    "allgather": Collective(0, per_rank=True),
    "allreduce": Collective(
        2, sums=True, segment=frozenset({"segmented_ring"}), reorders=frozenset({"ring", "segmented_ring"})
    ),
    "alltoall": Collective(3, per_rank=True),
    "barrier": Collective(6, sized=False),
    "bcast": Collective(
        7,
        segment=frozenset({"chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial"}),
        fanout=frozenset({"chain"}),
    ),
    "gather": Collective(9, per_rank=True, segment=frozenset({"linear_sync"})),
    "reduce": Collective(
        11,
        sums=True,
        segment=frozenset({"chain", "pipeline", "binary", "binomial", "in-order_binary"}),
        fanout=frozenset({"chain"}),
        reorders=frozenset({"chain", "pipeline", "binary", "binomial"}),
    ),
    "reduce_scatter": Collective(12, sums=True, reorders=frozenset({"recursive_halving", "ring"})),
    "scatter": Collective(15, per_rank=True),
}


def compared_bytes(collective: str, size: int, comm_size: int) -> int:
    """The number that Open MPI compares with a rule's size, for the size that benchmarks state."""
    kind = CATALOGUE[collective]
    if not kind.sized:
        return 0
    return size * comm_size if kind.per_rank else size
