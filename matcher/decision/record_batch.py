# SPDX-License-Identifier: Apache-2.0
"""Records on their way from the database to `Knowledge`: as little as can be is left to be done with them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from reprise.matcher.decision.known_records import Known, Terms
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.linkage.prepared_record import CHUNK, Preparation, Prepared


@dataclass(frozen=True, slots=True)
class Batch:
    """Some records. `linkable` are found by linkage, and `alike` has one for each of the terms among them; the ids
    `left_out` are of those that nobody gets."""

    linkable: Prepared
    alike: Sequence[Known]
    cluster_wide: Sequence[Known]
    left_out: Sequence[int]


def batch(records: Iterable[tuple[int, Known | None]], prepare: Preparation) -> Batch:
    """Of records by their ids, None for those to be left out."""
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
    """The same of many, some at a time."""
    waiting = iter(records)
    while some := list(islice(waiting, CHUNK)):
        yield batch(some, prepare)
