# SPDX-License-Identifier: Apache-2.0
"""Batches of records that are prepared before `Knowledge` adds them, so that adding them is fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from reprise.matcher.decision.known_records import Known, Terms
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.linkage.prepared_record import CHUNK, Preparation, Prepared


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that have been prepared for `Knowledge.take`.

    `linkable` are the records that linkage can find. `alike` has one of these records for each distinct value of
    `Known.terms`. `cluster_wide` are the records for the whole cluster. `left_out` are the ids of retired and
    unreadable records.
    """

    linkable: Prepared
    alike: Sequence[Known]
    cluster_wide: Sequence[Known]
    left_out: Sequence[int]


def batch(records: Iterable[tuple[int, Known | None]], prepare: Preparation) -> Batch:
    """Return a prepared batch of records, given as (id, record); a record that is None counts as left out."""
    linkable: list[LinkableRecord] = []
    alike: dict[Terms, Known] = {}
    cluster_wide: list[Known] = []
    left_out: list[int] = []
    for number, record in records:
        if record is None:
            left_out.append(number)
        elif record.metadata is None:
            cluster_wide.append(record)
        else:
            alike.setdefault(record.terms, record)
            linkable.append(record.linkable(record.metadata))
    return Batch(prepare(linkable), list(alike.values()), cluster_wide, left_out)


def batches(records: Iterable[tuple[int, Known | None]], prepare: Preparation) -> Iterator[Batch]:
    """Yield batches of at most CHUNK records each."""
    waiting = iter(records)
    while some := list(islice(waiting, CHUNK)):
        yield batch(some, prepare)
