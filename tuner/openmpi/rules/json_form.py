# SPDX-License-Identifier: Apache-2.0
"""The JSON form of a rules file, as Open MPI 6 reads it: the first rule that matches a call applies.

This module follows the source of Open MPI's main branch; no build was available to test it with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reprise.tuner.openmpi.algorithms import Algorithms
from reprise.tuner.openmpi.catalogue import collective_named
from reprise.tuner.openmpi.rules.classic_form import DroppedError
from reprise.tuner.openmpi.rules.lax_json import Missing, Object, Value
from reprise.tuner.openmpi.rules.rules_model import RANKS_MAX, SIZE_MAX, Choice, CommRule, Rules, SizeRule, Spread
from reprise.tuner.openmpi.rules.scan import to_int

SPREADS: Mapping[str, Spread] = {"any": "any", "one-per-node": "one-per-node", "single-node": "single-node"}
INFINITE = ("inf", "Inf", "INF")


def read(root: Value, algorithms: Algorithms) -> Rules:
    """Return the rules of a parsed file for a release with these algorithms.

    A rule with an algorithm that the release does not have matches no message, so later rules apply. A rule whose `alg`
    is missing, or neither a number nor a name, leaves its messages to the built-in rules. Raise DroppedError if the
    file is dropped.
    """
    collectives = root.get("collectives") if isinstance(root, Object) else None
    if not isinstance(collectives, Object):
        raise DroppedError(
            "it is JSON but has no `collectives` object, and Open MPI does not fall back to the classic form"
        )
    rules: dict[str, Sequence[CommRule]] = {}
    for written, entries in collectives.pairs:
        name = collective_named(written)
        if name is None:
            raise DroppedError(f"no collective is called {written!r}: use MPI's names in lower case")
        if not isinstance(entries, list):
            raise DroppedError(f"{written}: the rules of a collective must be an array")
        known = algorithms.get(name, {})
        rules[name] = tuple(_comm_rule(entry, f"{written}[{number}]", known) for number, entry in enumerate(entries))
    return rules


def _comm_rule(entry: Value, where: str, known: Mapping[int, str]) -> CommRule:
    ranks = (
        to_int(_integer(entry, "comm_size_min", where, 0)),
        to_int(_integer(entry, "comm_size_max", where, RANKS_MAX)),
    )
    spread = entry.get("comm_rank_distribution") if isinstance(entry, Object) else Missing()
    if not isinstance(spread, str | Missing):
        raise DroppedError(f"{where}: comm_rank_distribution is not a string")
    rows = entry.get("rules") if isinstance(entry, Object) else Missing()
    if isinstance(rows, Object) and not rows.pairs:
        rows = []
    if not isinstance(rows, list):
        raise DroppedError(f"{where}: the array `rules` is missing")
    found = tuple(_size_rule(row, f"{where}.rules[{number}]", known) for number, row in enumerate(rows))
    kind: Spread = SPREADS.get(spread, "any") if isinstance(spread, str) else "any"
    return CommRule(found, ranks, spread=kind, where=where)


def _size_rule(row: Value, where: str, known: Mapping[int, str]) -> SizeRule:
    low = _integer(row, "msg_size_min", where, 0) % (SIZE_MAX + 1)
    high = _integer(row, "msg_size_max", where, SIZE_MAX) % (SIZE_MAX + 1)
    fanout, segment, requests = (to_int(_integer(row, key, where, 0)) for key in ("faninout", "seg_size", "reqs"))
    algorithm = 0
    written = row.get("alg") if isinstance(row, Object) else Missing()
    if isinstance(written, str):
        algorithm = next((number for number, name in known.items() if name == written), -1)
    elif isinstance(written, int) and not isinstance(written, bool):
        algorithm = to_int(written)
    if algorithm and algorithm not in known:
        low, high = SIZE_MAX, 0
    return SizeRule(low, high, Choice(algorithm, fanout, segment, requests), where)


def _integer(parent: Value, name: str, where: str, missing: int) -> int:
    value = parent.get(name) if isinstance(parent, Object) else Missing()
    if isinstance(value, Missing):
        return missing
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.startswith(INFINITE):
        # Open MPI stores "inf" as -1. A message size is a size_t, in which -1 is the largest value. A communicator's
        # size is an int, so a maximum of "inf" remains -1 and matches nothing.
        return -1
    raise DroppedError(f'{where}: {name} is neither an integer nor "inf"')
