# SPDX-License-Identifier: Apache-2.0
"""What Open MPI's code fixes about its collectives and no build can be asked for: ids, units, and what algorithms heed.

Ids and units are those of `coll_tuned` in 4.1.x; the algorithms' names are looked up in the build.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from reprise.tuner.model.touched_names import COLLECTIVES

NAMES = COLLECTIVES
"""The collectives by their ids in rules files, 0 to 21."""


class Unit(Enum):
    """What Open MPI compares with a rule's size, in terms of the size that benchmarks state."""

    MESSAGE = "the message's bytes"
    PART_OF_EACH_RANK = "one rank's part in bytes, times the number of ranks"
    MEAN_PART = "all parts in bytes, divided by the number of ranks"
    ELEMENT = "the bytes of one element (not of the message), times the number of ranks"
    NOTHING = "0, whatever the call moves"


# Of every collective that asks a rules file; the others read no rules, though a file may hold some for them.
UNITS: Mapping[str, Unit] = {
    "allgather": Unit.PART_OF_EACH_RANK,
    "allgatherv": Unit.MEAN_PART,
    "allreduce": Unit.MESSAGE,
    "alltoall": Unit.PART_OF_EACH_RANK,
    "alltoallv": Unit.NOTHING,
    "barrier": Unit.NOTHING,
    "bcast": Unit.MESSAGE,
    "exscan": Unit.ELEMENT,
    "gather": Unit.PART_OF_EACH_RANK,
    "reduce": Unit.MESSAGE,
    "reduce_scatter": Unit.MESSAGE,
    "reduce_scatter_block": Unit.PART_OF_EACH_RANK,
    "scan": Unit.ELEMENT,
    "scatter": Unit.PART_OF_EACH_RANK,
}


@dataclass(frozen=True)
class Collective:
    """A collective that campaigns tune.

    `sums`: messages are 4-byte floats, so that sizes are multiples of 4. `segment` and `fanout` name the algorithms (as
    `ompi_info` does) that heed these parameters when they come from a rules file; the others ignore them.

    `unsafe` names the algorithms that no file for jobs may hold, since jobs would get wrong results (seen with 4.1.4):
    those that combine contributions out of the ranks' order, before which the built-in rules ask whether the operation
    commutes and a file does not; and all of gather and scatter, where each rank looks up a rule by its own send buffer,
    which has no size in a root that gathers in place, nor in the ranks that only receive of a scatter, so that ranks
    take different algorithms for one call.

    `one_rule`: a file for jobs has one rule for all sizes. Open MPI compares no size (alltoallv), or one that each rank
    takes from its own datatype, so that ranks of one call may find different rules (allgatherv; the built-in ones do,
    too: with them a program hung in 4.1.4 whose ranks sent one type of many bytes or many bytes).
    """

    sums: bool = False
    segment: frozenset[str] = frozenset()
    fanout: frozenset[str] = frozenset()
    unsafe: frozenset[str] = frozenset()
    one_rule: bool = False


# Where an algorithm is heedless of a parameter, its points are one point to a campaign; where the code of a release
# could differ, the parameter is taken as heeded, which costs runs and never a result.
CATALOGUE: Mapping[str, Collective] = {
    "allgather": Collective(),
    "allgatherv": Collective(one_rule=True),
    "allreduce": Collective(
        sums=True, segment=frozenset({"segmented_ring"}), unsafe=frozenset({"ring", "segmented_ring"})
    ),
    "alltoall": Collective(),
    "alltoallv": Collective(one_rule=True),
    "barrier": Collective(),
    "bcast": Collective(
        segment=frozenset({"chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial"}),
        fanout=frozenset({"chain"}),
    ),
    "gather": Collective(
        segment=frozenset({"linear_sync"}),
        unsafe=frozenset({"basic_linear", "binomial", "linear_sync"}),
    ),
    "reduce": Collective(
        sums=True,
        segment=frozenset({"chain", "pipeline", "binary", "binomial", "in-order_binary"}),
        fanout=frozenset({"chain"}),
        unsafe=frozenset({"chain", "pipeline", "binary", "binomial"}),
    ),
    "reduce_scatter": Collective(sums=True, unsafe=frozenset({"recursive_halving", "ring"})),
    "reduce_scatter_block": Collective(sums=True),
    "scatter": Collective(unsafe=frozenset({"basic_linear", "binomial", "linear_nb"})),
}


# Open MPI looks at the last letter of these and not behind it, so that "gatherv2" is gatherv.
_OPEN_NAMES = tuple(name for name in NAMES if name.endswith(("v", "w")) and name != "scatterv")


def collective_named(name: str) -> str | None:
    """The collective that Open MPI takes a name in a file for."""
    if name in NAMES:
        return name
    return next((known for known in _OPEN_NAMES if name.startswith(known)), None)


def takes_data(collective: str) -> bool:
    """Whether its messages have a size at all."""
    return collective != "barrier"


def tells_sizes(collective: str) -> bool:
    """Whether rules tell its sizes apart: if not, one run measures one of them."""
    return UNITS[collective] is not Unit.NOTHING


def compared_bytes(collective: str, size: int, ranks: int) -> int:
    """The number that Open MPI compares with a rule's size, for the size that benchmarks state.

    For scan and exscan `size` is that of one element; for alltoallv, whose sizes differ, nothing is compared.
    """
    match UNITS[collective]:
        case Unit.PART_OF_EACH_RANK | Unit.ELEMENT:
            return size * ranks
        case Unit.NOTHING:
            return 0
        case _:
            return size
