# SPDX-License-Identifier: Apache-2.0
"""From measured choices to a rules file for Open MPI 4.1.

A choice made at a measured size holds from that size up to the next measured one, the largest also beyond. Below the
smallest measured size, in communicators of other sizes, and wherever algorithm 0 was chosen, the built-in rules decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from templates import render
from tuner.collectives.build import OpenMPIBuild
from tuner.collectives.catalogue import CATALOGUE, compared_bytes
from tuner.collectives.rules import CommEntry, Row, Rules, parse
from tuner.errors import TunerError

# collective: {communicator size: rows with the sizes that benchmarks state}
Table = Mapping[str, Mapping[int, Sequence[Row]]]

BUILT_IN = Row(0, 0)
GUARD = (BUILT_IN,)


def compile_rules(table: Table, build: OpenMPIBuild) -> Rules:
    """The rules of a table. Raises TunerError for what this build does not have.

    Open MPI 4.1 takes the last entry that is not larger than the communicator, and the first one if all are larger:
    hence an entry for 1 rank and one behind each measured size that both leave everything to the built-in rules.
    """
    rules: dict[int, Sequence[CommEntry]] = {}
    for name in sorted(table, key=lambda name: CATALOGUE[name].id if name in CATALOGUE else -1):
        if name not in CATALOGUE or name not in build.algorithms:
            raise TunerError(f"collective {name!r}: Open MPI {build.version} has no rules for it: leave it out")
        entries: dict[int, tuple[Row, ...]] = {1: GUARD}
        for comm_size in sorted(table[name]):
            entries[comm_size] = _rows(name, comm_size, table[name][comm_size], build)
            entries[comm_size + 1] = GUARD
        if any(rows != GUARD for rows in entries.values()):
            rules[CATALOGUE[name].id] = tuple(CommEntry(size, entries[size]) for size in sorted(entries))
    return rules


def _rows(name: str, comm_size: int, measured: Sequence[Row], build: OpenMPIBuild) -> tuple[Row, ...]:
    """The rows of one entry: in the unit that Open MPI compares, ascending from 0, equal neighbours merged."""
    if comm_size < 2:
        raise TunerError(f"collective {name!r}: a communicator of {comm_size} has nothing to tune: use 2 tasks or more")
    rows = [BUILT_IN]
    for row in sorted(measured, key=lambda row: row.size):
        if row.algorithm not in build.algorithms[name]:
            raise TunerError(
                f"collective {name!r}: Open MPI {build.version} has no algorithm {row.algorithm}, and a job that was "
                f"given it would abort: use 0 to {max(build.algorithms[name])}"
            )
        if min(row.size, row.fanout, row.segment) < 0:
            raise TunerError(
                f"collective {name!r}: {row} has a negative number, and Open MPI would drop the whole file"
            )
        start = compared_bytes(name, row.size, comm_size)
        new = Row(start, row.algorithm, row.fanout, row.segment) if row.algorithm else Row(start, 0)
        if start == rows[-1].size:
            if start or len(rows) > 1:
                raise TunerError(f"collective {name!r}: size {row.size} is given twice: give each size once")
            rows = [new]
        elif (new.algorithm, new.fanout, new.segment) != (rows[-1].algorithm, rows[-1].fanout, rows[-1].segment):
            rows.append(new)
    return tuple(rows)


def emit(rules: Rules, provenance: Sequence[str], build: OpenMPIBuild) -> str:
    """The file's text, with `provenance` as comments. It is read back and compared before it is given out."""
    names = {kind.id: name for name, kind in CATALOGUE.items()}
    collectives = [
        {"name": names[i], "id": i, "entries": rules[i], "algorithms": build.algorithms[names[i]]}
        for i in sorted(rules)
    ]
    comments = [" ".join(line.split()) for line in provenance]
    text = render("rules.j2", provenance=comments, collectives=collectives)
    if parse(text) != rules:
        raise AssertionError("a compiled rules file does not read back as it was compiled")
    return text
