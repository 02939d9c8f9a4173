# SPDX-License-Identifier: Apache-2.0
"""Rules as steps: from so many bytes on this choice, from so many ranks on these, from so many nodes on those.

All forms but JSON are written as steps. Neighbours that are equal are one step; what no rule decides is a step of its
own, with the built-in rules as its choice.
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
    """The choices of rows, the first of which to hold a size decides, from 0 bytes on."""

    def at(size: int) -> Choice:
        choice = next((row.choice for row in rows if row.low <= size <= row.high), BUILT_IN)
        return choice if choice.algorithm else BUILT_IN

    return _steps(((row.low, row.high) for row in rows), SIZE_MAX, at)


def by_ranks(comms: Sequence[CommRule], nodes: int) -> RankSteps:
    """The rules for communicators on `nodes` nodes, from 0 ranks on. Raises TunerError for rules by spread."""
    if any(comm.spread != "any" for comm in comms):
        raise TunerError("rules for one rank per node, or for a single node, can be written as JSON only")
    here = [comm for comm in comms if comm.nodes[0] <= nodes <= comm.nodes[1]]
    sizes = {id(comm): by_size(comm.rows) for comm in here}

    def at(ranks: int) -> SizeSteps:
        found = next((comm for comm in here if comm.ranks[0] <= ranks <= comm.ranks[1]), None)
        return sizes[id(found)] if found else NO_SIZES

    return _steps((comm.ranks for comm in here), RANKS_MAX, at)


def by_nodes(comms: Sequence[CommRule]) -> NodeSteps:
    """The rules of a collective, from 0 nodes on. Raises TunerError for rules by spread."""
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
