# SPDX-License-Identifier: Apache-2.0
"""From measured choices to rules.

A choice made at a measured size holds from that size up to the next measured one, the largest also beyond. Below the
smallest measured size, in communicators of other sizes or on other numbers of nodes, and wherever algorithm 0 was
chosen, the built-in rules decide.
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
    """The communicators that a measurement stands for: so many ranks, on so many nodes (0: on any number)."""

    ranks: int
    nodes: int = 0


@dataclass(frozen=True)
class Row:
    """What was chosen at a size, which is as benchmarks state it."""

    size: int
    algorithm: int
    fanout: int = 0
    segment: int = 0


# collective: {communicators: rows}
Table: TypeAlias = Mapping[str, Mapping[Shape, Sequence[Row]]]


def for_nodes(table: Table, nodes: int) -> Table:
    """What holds for jobs on `nodes` nodes, as a table without nodes: for the forms that have no level of nodes."""
    return {
        name: {Shape(shape.ranks): rows for shape, rows in shapes.items() if shape.nodes in (0, nodes)}
        for name, shapes in table.items()
    }


def compile_rules(table: Table, build: OpenMPIBuild) -> Rules:
    """The rules of a table. Raises TunerError for what this build does not have, and for what is there twice."""
    rules: dict[str, Sequence[CommRule]] = {}
    for name, shapes in table.items():
        if name not in CATALOGUE or name not in build.algorithms:
            raise TunerError(f"collective {name!r}: Open MPI {build.version} has no rules for it: leave it out")
        several = {shape.ranks for shape in shapes if shape.nodes} & {
            shape.ranks for shape in shapes if not shape.nodes
        }
        if several:
            raise TunerError(
                f"collective {name!r}: {min(several)} ranks are there for some numbers of nodes and for any: choose one"
            )
        comms = [_comm_rule(name, shape, shapes[shape], build) for shape in sorted(shapes)]
        if kept := tuple(comm for comm in comms if comm.rows):
            rules[name] = kept
    return rules


def _comm_rule(name: str, shape: Shape, measured: Sequence[Row], build: OpenMPIBuild) -> CommRule:
    """In the unit that Open MPI compares; equal neighbours merged, and no rule for what the built-in rules decide."""
    if shape.ranks < 2:
        raise TunerError(
            f"collective {name!r}: a communicator of {shape.ranks} has nothing to tune: use 2 tasks or more"
        )
    starts: list[tuple[int, Choice]] = []
    for row in sorted(measured, key=lambda row: row.size):
        start = compared_bytes(name, row.size, shape.ranks)
        if starts and starts[-1][0] == start:
            raise TunerError(f"collective {name!r}: size {row.size} is given twice: give each size once")
        starts.append((start, _choice(name, row, shape.ranks, build)))
    merged = [step for i, step in enumerate(starts) if i == 0 or step[1] != starts[i - 1][1]]
    ends = [start - 1 for start, _ in merged[1:]] + [SIZE_MAX]
    steps = zip(merged, ends[: len(merged)], strict=True)
    rows = tuple(SizeRule(start, end, choice) for (start, choice), end in steps if choice != BUILT_IN)
    nodes = (shape.nodes, shape.nodes) if shape.nodes else ANY_NODES
    return CommRule(rows, (shape.ranks, shape.ranks), nodes)


def _choice(name: str, row: Row, ranks: int, build: OpenMPIBuild) -> Choice:
    """What the algorithm heeds of a row, with no more children than there are other ranks."""
    known = build.algorithms[name]
    if row.algorithm not in known:
        raise TunerError(
            f"collective {name!r}: Open MPI {build.version} has no algorithm {row.algorithm}, and a job that was "
            f"given it would abort: use 0 to {max(known)}"
        )
    if min(row.size, row.fanout, row.segment) < 0:
        raise TunerError(f"collective {name!r}: {row} has a negative number, and Open MPI would drop the whole file")
    if not row.algorithm:
        return BUILT_IN
    segment, fanout = heeds(name, known[row.algorithm])
    return Choice(row.algorithm, min(row.fanout, ranks - 1) if fanout else 0, row.segment if segment else 0)
