# SPDX-License-Identifier: Apache-2.0
"""Properties of Open MPI's collectives that its source code defines but `ompi_info` does not report.

These properties are the collectives' ids, the units of their sizes, and the parameters that their algorithms use. Ids
and units are those of `coll_tuned` in 4.1.x; the algorithms' names are looked up in the build.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from reprise.tuner.model.touched_names import COLLECTIVES

NAMES = COLLECTIVES
"""Names of the collectives, indexed by their ids in rules files (0 to 21)."""


class Unit(Enum):
    """Quantity that Open MPI compares with a rule's size, in terms of the size that benchmarks report."""

    MESSAGE = "the message's bytes"
    PART_OF_EACH_RANK = "one rank's part in bytes, times the number of ranks"
    MEAN_PART = "all ranks' parts in bytes, divided by the number of ranks"
    ELEMENT = "the bytes of one element (not of the message), times the number of ranks"
    NOTHING = "always 0, regardless of the call's sizes"


# All collectives that use rules files, with the units of their sizes; rules for other collectives have no effect.
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
    """Properties of a collective that campaigns can tune.

    `sums`: messages are 4-byte floats, so sizes are multiples of 4. `segment` and `fanout` are the algorithms (named as
    in `ompi_info`) that use the segment size or the fan-out of a rule; all others ignore that parameter.

    `unsafe` are the algorithms that rules files for jobs must not contain, since jobs would get wrong results (seen
    with 4.1.4). Some combine contributions out of the ranks' order; the built-in rules check whether the operation
    commutes, but a rule in a file has no such condition. The other unsafe algorithms are all algorithms of gather and
    scatter: each rank looks up a rule by the size of its send buffer, which is undefined for a root that gathers in
    place and for ranks that only receive in a scatter, so ranks choose different algorithms for one call.

    `one_rule`: a file for jobs must have only one rule, for all sizes. Open MPI compares either no size (alltoallv), or
    a size that each rank derives from its own datatype, so that the ranks of one call may find different rules
    (allgatherv). The built-in rules have that problem, too: with 4.1.4, a program hung when some ranks sent one element
    of a large datatype and others sent many single bytes.
    """

    sums: bool = False
    segment: frozenset[str] = frozenset()
    fanout: frozenset[str] = frozenset()
    unsafe: frozenset[str] = frozenset()
    one_rule: bool = False


# If an algorithm ignores a parameter, a campaign merges the points that differ only in that parameter. If releases
# could differ in whether an algorithm ignores the parameter, the algorithm is assumed to use it. If that is wrong, a
# campaign makes unnecessary runs but misses no setting.
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


# Open MPI ignores any characters that follow one of these names, so it reads "gatherv2" as "gatherv".
_OPEN_NAMES = tuple(name for name in NAMES if name.endswith(("v", "w")) and name != "scatterv")


def collective_named(name: str) -> str | None:
    """Return the collective that Open MPI recognizes in a name from a file, or None."""
    if name in NAMES:
        return name
    return next((known for known in _OPEN_NAMES if name.startswith(known)), None)


def takes_data(collective: str) -> bool:
    """Return whether a collective's messages have a size."""
    return collective != "barrier"


def tells_sizes(collective: str) -> bool:
    """Return whether rules distinguish a collective's sizes; if not, a run can measure only one size."""
    return UNITS[collective] is not Unit.NOTHING


def compared_bytes(collective: str, size: int, ranks: int) -> int:
    """Return the number that Open MPI compares with a rule's size, for a `size` as benchmarks report it.

    For scan and exscan, `size` is that of one element. For alltoallv and barrier, the result is always 0.
    """
    match UNITS[collective]:
        case Unit.PART_OF_EACH_RANK | Unit.ELEMENT:
            return size * ranks
        case Unit.NOTHING:
            return 0
        case _:
            return size
