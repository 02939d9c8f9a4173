# SPDX-License-Identifier: Apache-2.0
"""Compute the per-rank byte counts of collectives such as MPI_Alltoallv from each rank's total.

An OTF2 archive contains only the totals. In an allgatherv, gatherv or scatterv, each rank's part equals its own total.
In an alltoallv, alltoallw or reduce_scatter, each total is assumed to be distributed evenly among the ranks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.otf2_archive import Definitions, Record
from reprise.tuner.proxy.otf2_calls import RankCalls

ELEMENT = 8
"""Assumed size of an element in bytes. If a total is a multiple of this size, each rank's share is too, so that no
element is split.
"""


def fill(ranks: Sequence[RankCalls], definitions: Definitions) -> Counter[str]:
    """Set the per-rank byte counts of all calls in `counted`; return the number of evenly distributed calls by kind.

    Raises:
        ProxyError: The ranks of a communicator did not make the same calls.
    """
    calls: dict[int, dict[int, list[tuple[int, Record]]]] = defaultdict(dict)
    for rank, each in enumerate(ranks):
        for place, record in each.counted:
            calls[record.comm].setdefault(rank, []).append((place, record))
    even: Counter[str] = Counter()
    for comm, by_rank in calls.items():
        members = definitions.comms[comm]
        rows = [by_rank.get(member, []) for member in members]
        kinds = [[record.kind for _, record in row] for row in rows]
        if any(row != kinds[0] for row in kinds):
            raise ProxyError(
                f"ranks of communicator {comm} of the trace did not make the same calls: record a complete run"
            )
        for column in zip(*rows, strict=True):
            even += _fill(ranks, members, column)
    return even


def _fill(ranks: Sequence[RankCalls], members: Sequence[int], column: Sequence[tuple[int, Record]]) -> Counter[str]:
    """Set one call's per-rank byte counts on all members; count the call by kind if bytes were distributed evenly."""
    records = [record for _, record in column]
    kind, root = records[0].kind, records[0].peer
    in_place = not any(record.sent for record in records)
    shares = [_shares(record.received if in_place else record.sent, len(members)) for record in records]
    for own, (member, (place, record)) in enumerate(zip(members, column, strict=True)):
        sent: Sequence[int] = ()
        received: Sequence[int] = ()
        if kind == "allgatherv":
            received = _gathered(records)
        elif kind == "gatherv" and own == root:
            received = _with_root([one.sent for one in records], root, record.received)
        elif kind == "scatterv" and own == root:
            sent = _with_root([one.received for one in records], root, record.sent)
        elif kind == "reduce_scatter":
            sent = shares[0]
        elif kind in ("alltoallv", "alltoallw"):
            received = [each[own] for each in shares]
            sent = () if in_place else shares[own]
        events = ranks[member].events
        events[place] = replace(events[place], values=(*sent, *received), send_counts=len(sent))
    return Counter([kind] if kind in ("alltoallv", "alltoallw", "reduce_scatter") else [])


def _gathered(records: Sequence[Record]) -> Sequence[int]:
    """Return the number of bytes that each rank contributes to an allgatherv.

    If all ranks use MPI_IN_PLACE, the parts are unknown and assumed to be equal.
    """
    parts = [record.sent for record in records]
    return parts if any(parts) else _shares(records[0].received, len(parts))


def _with_root(parts: list[int], root: int, whole: int) -> Sequence[int]:
    """Return the number of bytes of each rank's part in a gatherv or scatterv.

    If the root uses MPI_IN_PLACE, its part is the total minus the other parts.
    """
    parts[root] = parts[root] or max(0, whole - sum(parts))
    return parts


def _shares(whole: int, parts: int) -> Sequence[int]:
    unit = ELEMENT if whole % ELEMENT == 0 else 4 if whole % 4 == 0 else 1
    each, more = divmod(whole // unit, parts)
    return [unit * (each + (place < more)) for place in range(parts)]
