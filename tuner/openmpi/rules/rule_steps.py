# SPDX-License-Identifier: Apache-2.0
"""Conversion of rules to nested steps; each step begins at a number of nodes, ranks or bytes.

All forms of rules files except JSON are written as steps. The innermost steps have choices of algorithms. Neighboring
steps with equal content are merged. Where no rule decides, there is a separate step whose choice is the built-in rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.rules.rules_model import BUILT_IN, RANKS_MAX, SIZE_MAX, Choice, CommRule, Range, SizeRule

T = TypeVar("T")
SizeSteps: TypeAlias = tuple[tuple[int, Choice], ...]
RankSteps: TypeAlias = tuple[tuple[int, SizeSteps], ...]
NodeSteps: TypeAlias = tuple[tuple[int, RankSteps], ...]

NO_SIZES: SizeSteps = ((0, BUILT_IN),)
NO_RANKS: RankSteps = ((0, NO_SIZES),)


def by_size(rows: Sequence[SizeRule]) -> SizeSteps:
    """Return the rows as steps of message sizes with their choices; the first step begins at 0 bytes.

    If several rows include a size, the first one decides.
    """

    def at(size: int) -> Choice:
        choice = next((row.choice for row in rows if row.low <= size <= row.high), BUILT_IN)
        return choice if choice.algorithm else BUILT_IN

    return _steps(((row.low, row.high) for row in rows), SIZE_MAX, at)


def by_ranks(comms: Sequence[CommRule], nodes: int) -> RankSteps:
    """Return the rules for communicators on `nodes` nodes as steps of communicator sizes; the first begins at 0 ranks.

    Raise TunerError if a rule depends on the distribution of ranks over nodes (`spread`).
    """
    if any(comm.spread != "any" for comm in comms):
        raise TunerError("rules for one rank per node, or for a single node, can only be written as JSON")
    here = [comm for comm in comms if comm.nodes[0] <= nodes <= comm.nodes[1]]
    sizes = {id(comm): by_size(comm.rows) for comm in here}

    def at(ranks: int) -> SizeSteps:
        found = next((comm for comm in here if comm.ranks[0] <= ranks <= comm.ranks[1]), None)
        return sizes[id(found)] if found else NO_SIZES

    return _steps((comm.ranks for comm in here), RANKS_MAX, at)


def by_nodes(comms: Sequence[CommRule]) -> NodeSteps:
    """Return the rules of a collective as steps of numbers of nodes; the first begins at 0 nodes.

    Raise TunerError if a rule depends on the distribution of ranks over nodes (`spread`).
    """
    return _steps((comm.nodes for comm in comms), RANKS_MAX, lambda nodes: by_ranks(comms, nodes))


def _steps(ranges: Iterable[Range], limit: int, at: Callable[[int], T]) -> tuple[tuple[int, T], ...]:
    edges = {0}
    for low, high in ranges:
        edges.update((low, high + 1))
    steps: list[tuple[int, T]] = []
    for edge in sorted(edges):
        if 0 <= edge <= limit:
            value = at(edge)
            if not steps or steps[-1][1] != value:
                steps.append((edge, value))
    return tuple(steps)
