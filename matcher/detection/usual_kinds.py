# SPDX-License-Identifier: Apache-2.0
"""Usual kinds of accesses of a user's program, from its earlier runs, which new jobs are expected to repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reprise.matcher.detection.record_patterns import known_bytes

RUNS = 5
"""Number of a program's newest runs with known patterns that count. Earlier runs may be of another version."""
LEAST_SHARE = 0.1
"""Least share of a run's bytes that an operation must have. Programs that write results also read a configuration."""
MOST = 0.75
"""Least share of an operation's bytes in a run, and of the runs with this operation, that a usual kind has.

A program that reads or writes in several ways has no usual kind, since a job may do any of them.
"""


def usual_kinds(runs: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """Return the usual kinds of a program's accesses, at most one of reads and one of writes.

    `runs` are the bytes of each pattern in each of its runs, newest first.
    """
    seen: dict[str, list[str | None]] = {}
    counted = 0
    for run in runs:
        known = known_bytes(run.items())
        counted += bool(known)
        for operation, kind in _main_kinds(known).items():
            seen.setdefault(operation, []).append(kind)
        if counted == RUNS:
            break
    return tuple(sorted(kind for of_runs in seen.values() if (kind := _usual(of_runs))))


def _main_kinds(known: Mapping[str, int]) -> Mapping[str, str | None]:
    """Return the kind of a run's reads and of its writes; None if it has several."""
    total = sum(known.values())
    found: dict[str, str | None] = {}
    for operation in {_operation(kind) for kind in known}:
        of_one = {kind: size for kind, size in known.items() if _operation(kind) == operation}
        size = sum(of_one.values())
        if size >= LEAST_SHARE * total:
            largest = max(of_one, key=lambda kind: (of_one[kind], kind))
            found[operation] = largest if of_one[largest] >= MOST * size else None
    return found


def _operation(kind: str) -> str:
    return kind.split("/", 1)[0]


def _usual(of_runs: Sequence[str | None]) -> str | None:
    found = [kind for kind in set(of_runs) if kind and of_runs.count(kind) >= MOST * len(of_runs)]
    return found[0] if found else None
