# SPDX-License-Identifier: Apache-2.0
"""Compilation of measured choices into rules.

A choice made at a measured size applies from that size up to the next measured size. The choice at the largest measured
size applies to all larger sizes, too. The built-in rules decide below the smallest measured size, in communicators of
other sizes or on other numbers of nodes, and wherever algorithm 0 was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.algorithms import heeds
from reprise.tuner.openmpi.catalogue import CATALOGUE, compared_bytes
from reprise.tuner.openmpi.installed_build import OpenMPIBuild
from reprise.tuner.openmpi.rules.rules_model import ANY_NODES, BUILT_IN, SIZE_MAX, Choice, CommRule, Rules, SizeRule


@dataclass(frozen=True, order=True)
class Shape:
    """The shape of the communicators that a measurement represents.

    These communicators have `ranks` ranks on `nodes` nodes (0: any number).
    """

    ranks: int
    nodes: int = 0


@dataclass(frozen=True)
class Row:
    """The choice at a measured size (as benchmarks report it): algorithm, fan-out, and segment size in bytes."""

    size: int
    algorithm: int
    fanout: int = 0
    segment: int = 0


# Maps a collective to {shape of the communicators: rows}.
Table: TypeAlias = Mapping[str, Mapping[Shape, Sequence[Row]]]


def for_nodes(table: Table, nodes: int) -> Table:
    """Return the part of a table for jobs on `nodes` nodes, as a table whose shapes have no number of nodes.

    Forms of rules files that cannot distinguish numbers of nodes need such a table.
    """
    return {
        name: {Shape(shape.ranks): rows for shape, rows in shapes.items() if shape.nodes in (0, nodes)}
        for name, shapes in table.items()
    }


def compile_rules(table: Table, build: OpenMPIBuild) -> Rules:
    """Return the rules for the choices in a table.

    Raise TunerError for collectives or algorithms that this build does not have, and for duplicates.
    """
    rules: dict[str, Sequence[CommRule]] = {}
    for name, shapes in table.items():
        if name not in CATALOGUE or name not in build.algorithms:
            raise TunerError(f"collective {name!r}: Open MPI {build.version} has no rules for it: leave it out")
        several = {shape.ranks for shape in shapes if shape.nodes} & {
            shape.ranks for shape in shapes if not shape.nodes
        }
        if several:
            raise TunerError(
                f"collective {name!r}: {min(several)} ranks occur both with numbers of nodes and with any "
                "number: keep one of these"
            )
        comms = [_comm_rule(name, shape, shapes[shape], build) for shape in sorted(shapes)]
        if kept := tuple(comm for comm in comms if comm.rows):
            rules[name] = kept
    return rules


def _comm_rule(name: str, shape: Shape, measured: Sequence[Row], build: OpenMPIBuild) -> CommRule:
    """Return the rule for communicators of a shape, with sizes in the unit that Open MPI compares.

    Neighboring sizes with equal choices are merged. Sizes at which the built-in rules decide have no row.
    """
    if shape.ranks < 2:
        raise TunerError(
            f"collective {name!r}: a communicator of {shape.ranks} has nothing to tune: use 2 tasks or more"
        )
    starts: list[tuple[int, Choice]] = []
    for row in sorted(measured, key=lambda row: row.size):
        start = compared_bytes(name, row.size, shape.ranks)
        if starts and starts[-1][0] == start:
            raise TunerError(f"collective {name!r}: size {row.size} is listed twice: list each size once")
        starts.append((start, _choice(name, row, shape.ranks, build)))
    merged = [step for i, step in enumerate(starts) if i == 0 or step[1] != starts[i - 1][1]]
    ends = [start - 1 for start, _ in merged[1:]] + [SIZE_MAX]
    steps = zip(merged, ends[: len(merged)], strict=True)
    rows = tuple(SizeRule(start, end, choice) for (start, choice), end in steps if choice != BUILT_IN)
    nodes = (shape.nodes, shape.nodes) if shape.nodes else ANY_NODES
    return CommRule(rows, (shape.ranks, shape.ranks), nodes)


def _choice(name: str, row: Row, ranks: int, build: OpenMPIBuild) -> Choice:
    """Return a row's choice without parameters that the algorithm ignores; the fan-out is at most `ranks` - 1."""
    known = build.algorithms[name]
    if row.algorithm not in known:
        raise TunerError(
            f"collective {name!r}: Open MPI {build.version} has no algorithm {row.algorithm}, and jobs with that rule "
            f"would abort: use 0 to {max(known)}"
        )
    if min(row.size, row.fanout, row.segment) < 0:
        raise TunerError(f"collective {name!r}: {row} has a negative number, so Open MPI would drop the whole file")
    if not row.algorithm:
        return BUILT_IN
    segment, fanout = heeds(name, known[row.algorithm])
    return Choice(row.algorithm, min(row.fanout, ranks - 1) if fanout else 0, row.segment if segment else 0)
