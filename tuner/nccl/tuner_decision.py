# SPDX-License-Identifier: Apache-2.0
"""Decision of a tuner plugin on a call, emulated: the first line that matches, and that NCCL can carry out, decides."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reprise.tuner.nccl.tuner_lines import ANY, KEPT, Line

Combination = tuple[str, str]
"""An algorithm and a protocol."""

SERVED_BY: dict[str, Sequence[str]] = {
    "broadcast": ("ring",),
    "reduce": ("ring",),
    "allgather": ("ring", "collnet_direct", "nvls", "pat"),
    "reducescatter": ("ring", "collnet_direct", "nvls", "pat"),
    "allreduce": ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree"),
}
"""Algorithms that NCCL has for each collective; a machine may lack the hardware for all but ring and tree."""
ALL_PROTOCOLS = ("tree", "ring")
"""Algorithms that NCCL combines with every protocol; it combines the others only with `simple`."""


@dataclass(frozen=True)
class Call:
    """A call of a collective with `size` bytes in a communicator, as NCCL describes it to a tuner.

    `size` is the size of the whole buffer: for allgather and reducescatter, the sum of all ranks' parts. `operations`
    is the number of operations in its group.
    """

    collective: str
    size: int
    nodes: int
    ranks: int
    operations: int = 1
    registered: int = 0


def exists(collective: str, algorithm: str, protocol: str) -> bool:
    """Return whether NCCL has the combination for a collective on any hardware."""
    return algorithm in SERVED_BY[collective] and (protocol == "simple" or algorithm in ALL_PROTOCOLS)


def matches(line: Line, call: Call) -> bool:
    """Return whether a line is for a call."""
    return (
        line.collective == call.collective
        and line.low <= call.size <= line.high
        and line.nodes in (ANY, call.nodes)
        and line.ranks in (ANY, call.ranks)
        and line.operations in (ANY, call.operations)
        and line.registered in (ANY, call.registered)
    )


def decide(lines: Sequence[Line], call: Call, ignored: Collection[Combination] = ()) -> Line | None:
    """Return the line that decides a call; None if no line does, so that NCCL chooses.

    `ignored`: combinations that NCCL cannot use for the call, because NCCL does not have them for the collective,
    because the hardware does not support them, or because the user excluded them by NCCL_ALGO or NCCL_PROTO. A plugin
    skips the lines with these combinations.
    """
    return next((one for one in lines if matches(one, call) and (one.algorithm, one.protocol) not in ignored), None)


def channels(decided: Line | None, initial: int) -> int:
    """Return the number of channels that the plugin requests for a call, 0 if NCCL chooses.

    `initial`: the number with which the plugin begins, 1 in NCCL's own example.
    """
    return initial if decided is None or decided.channels == KEPT else decided.channels
