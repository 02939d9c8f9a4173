# SPDX-License-Identifier: Apache-2.0
"""Rules file for `han`, with which `han` passes to `tuned` the calls that have a rule, and keeps all other calls.

From 5.0 on, `han` outranks `tuned` on communicators that span nodes. Lowering the priority of `han` would give every
call of the job to `tuned`, including collectives and sizes that no campaign measured. This file gives `tuned` only the
measured calls: for each collective that `han` implements, it selects the component by the communicator and the message
size.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reprise.tuner.openmpi.catalogue import compared_bytes
from reprise.tuner.openmpi.rules.han_file import HanEntry, HanRow, HanRules
from reprise.tuner.openmpi.rules.rules_model import SIZE_MAX, CommRule, Rules

LEVEL = "global_communicator"
KEEPS, TAKES = "han", "tuned"
EVERY_SIZE = [HanRow(0, KEEPS)]


def delegate(rules: Rules, collectives: Collection[str]) -> HanRules:
    """Return rules for `han` that pass to `tuned` the calls that `rules` decide.

    `collectives` are those that `han` implements and selects a component for; the result is empty if `rules` decide
    none of them. Each of `rules` must be for communicators of a single size, as those that `compile_rules` returns are.
    """
    found: dict[tuple[str, str], Sequence[HanEntry]] = {}
    for name, comms in rules.items():
        if name not in collectives or not any(comm.rows for comm in comms):
            continue
        entries: dict[int, Sequence[HanRow]] = {1: EVERY_SIZE}
        for comm in sorted(comms, key=lambda comm: comm.ranks):
            first, last = comm.ranks
            entries[first] = _rows(name, comm, first)
            entries[last + 1] = EVERY_SIZE
        found[name, LEVEL] = [HanEntry(ranks, rows) for ranks, rows in sorted(entries.items())]
    return found


def _rows(name: str, comm: CommRule, ranks: int) -> Sequence[HanRow]:
    """Return the component for each range of sizes; `han` compares one rank's bytes, unlike `tuned`.

    For `tuned`, one byte of one rank counts as `unit` bytes. Rules for `tuned` begin at multiples of `unit`, so the
    division is exact.
    """
    unit = max(compared_bytes(name, 1, ranks), 1)
    steps: dict[int, str] = {0: KEEPS}
    for row in sorted(comm.rows, key=lambda row: row.low):
        steps[row.low // unit] = TAKES
        if row.high < SIZE_MAX:
            steps[(row.high + 1) // unit] = KEEPS
    found: list[HanRow] = []
    for size in sorted(steps):
        if not found or found[-1].component != steps[size]:
            found.append(HanRow(size, steps[size]))
    return found
