# SPDX-License-Identifier: Apache-2.0
"""Content of a rules file in any form: ranges of nodes, ranks and message sizes, with a choice for each combination.

Forms and releases differ in how they look up a rule; here, all use one method: the first range that includes the call
decides. Sizes are in the unit that Open MPI compares (`catalogue.compared_bytes`). All ranges include both ends. A
range whose low end exceeds its high end is empty; files with unsorted thresholds have such ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

RANKS_MAX = 2**31 - 1  # a communicator's size is a C int
SIZE_MAX = 2**64 - 1  # a message's size is a size_t

Range: TypeAlias = tuple[int, int]
ANY_NODES: Range = (0, RANKS_MAX)
ANY_RANKS: Range = (0, RANKS_MAX)

# Distribution of a communicator's ranks over its nodes, with the values that the JSON form uses.
Spread = Literal["any", "one-per-node", "single-node"]


@dataclass(frozen=True, slots=True)
class Choice:
    """An algorithm (0: the built-in rules decide), its fan-out, and its segment size in bytes.

    `requests`: maximum number of pending requests (0: unlimited).
    """

    algorithm: int
    fanout: int = 0
    segment: int = 0
    requests: int = 0


BUILT_IN = Choice(0)


@dataclass(frozen=True, slots=True)
class SizeRule:
    """The choice for messages of `low` to `high` bytes; `where` is the rule's place in the file, to be shown to users.

    An algorithm of -1 means that the release does not have an algorithm of the given name; such a rule matches nothing.
    """

    low: int
    high: int
    choice: Choice
    where: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CommRule:
    """The rules for communicators whose numbers of ranks and nodes are in the ranges `ranks` and `nodes`.

    The first row that includes a size decides. If there is none, the built-in rules decide, and no later CommRule is
    tried.
    """

    rows: Sequence[SizeRule]
    ranks: Range = ANY_RANKS
    nodes: Range = ANY_NODES
    spread: Spread = "any"
    where: str = field(default="", compare=False)

    def holds(self, nodes: int, ranks: int) -> bool:
        """Return whether the rule applies to a communicator."""
        if self.spread == "one-per-node" and ranks != nodes:
            return False
        if self.spread == "single-node" and nodes != 1:
            return False
        return self.ranks[0] <= ranks <= self.ranks[1] and self.nodes[0] <= nodes <= self.nodes[1]


# Rules in the order in which they are tried, by the collective's name.
Rules: TypeAlias = Mapping[str, Sequence[CommRule]]


@dataclass(frozen=True)
class Place:
    """Place of the rule that decides a call.

    `comm` is the index of the CommRule among those of the collective, and `row` is the index of the row in that
    CommRule; None means that there is no such rule.
    """

    comm: int | None
    row: int | None


def locate(rules: Rules, collective: str, nodes: int, ranks: int, size: int) -> Place:
    """Return the place of the rule that decides a call of `size` bytes on `ranks` ranks on `nodes` nodes."""
    for number, comm in enumerate(rules.get(collective, ())):
        if comm.holds(nodes, ranks):
            return Place(number, next((i for i, row in enumerate(comm.rows) if row.low <= size <= row.high), None))
    return Place(None, None)


def decide(rules: Rules, collective: str, nodes: int, ranks: int, size: int) -> Choice:
    """Return the choice for a call, or BUILT_IN if no rule decides or the deciding rule has algorithm 0."""
    for comm in rules.get(collective, ()):
        if comm.holds(nodes, ranks):
            return _at(comm.rows, size)
    return BUILT_IN


def _at(rows: Sequence[SizeRule], size: int) -> Choice:
    for row in rows:
        if row.low <= size <= row.high:
            return row.choice if row.choice.algorithm else BUILT_IN
    return BUILT_IN


def differences(one: Rules, other: Rules) -> Iterator[tuple[str, int, int, int]]:
    """Yield a call (collective, nodes, ranks, size) for each region of calls where two sets of rules differ.

    The result is empty if and only if both sets agree on every possible call: a choice changes only where some range
    begins or ends, so it is sufficient to try each of these points. Rules that depend on `spread` add the points where
    the number of ranks equals the number of nodes.
    """
    for collective in sorted({*one, *other}):
        ours, theirs = one.get(collective, ()), other.get(collective, ())
        for nodes, ranks in _communicators([*ours, *theirs]):
            mine = next((comm.rows for comm in ours if comm.holds(nodes, ranks)), ())
            yours = next((comm.rows for comm in theirs if comm.holds(nodes, ranks)), ())
            for size in _edges((row.low, row.high) for row in (*mine, *yours)):
                if size <= SIZE_MAX and _at(mine, size) != _at(yours, size):
                    yield collective, nodes, ranks, size


def _communicators(comms: Sequence[CommRule]) -> Iterator[tuple[int, int]]:
    """Yield (nodes, ranks) of one communicator from each region in which the same rules of `comms` apply.

    The number of ranks is at least the number of nodes.
    """
    all_nodes = {max(edge, 1) for edge in _edges(comm.nodes for comm in comms)}
    # The smallest communicator of a region may have one rank, which uses no rules, so one of two ranks is always added.
    all_ranks = {max(edge, 1) for edge in _edges(comm.ranks for comm in comms)} | {2}
    if any(comm.spread != "any" for comm in comms):
        all_nodes |= {1, 2} | all_ranks
        all_ranks |= all_nodes | {edge + 1 for edge in all_ranks}
    for nodes in sorted(all_nodes):
        for ranks in sorted(all_ranks | {nodes}):
            if nodes <= ranks <= RANKS_MAX:
                yield nodes, ranks


def _edges(ranges: Iterable[Range]) -> set[int]:
    edges = {0}
    for low, high in ranges:
        edges.add(low)
        edges.add(high + 1)
    return edges
