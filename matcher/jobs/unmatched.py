# SPDX-License-Identifier: Apache-2.0
"""What would be worth tuning: classes of jobs that no record was near to, by what a record may save them."""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from database import Database
from database.model import UnmatchedClass
from matcher.explain import HIDDEN
from matcher.jobs.staff import Reader

JSON_VERSION = 1
HEADINGS = ("rank", "user", "program", "nodes", "jobs", "node-hours", "expected saving")
ASSUMED_GAIN = 0.1
"""What a record is taken to gain where there is none yet to judge by. It does not change the ranks."""


@dataclass(frozen=True)
class Expected:
    """What a record is expected to gain: the median of `records`, of `in_production` of which it is known from jobs
    that were held out; ASSUMED_GAIN where there are none."""

    gain: float
    records: int
    in_production: int

    def text(self) -> str:
        if not self.records:
            return f"Expected gain {self.gain:.1%}: assumed, for no record is active"
        return (
            f"Expected gain {self.gain:.1%}: the median of {self.records} active record{'s' * (self.records != 1)} "
            f"({self.in_production} as measured in production)"
        )


def expected(database: Database, component: str | None) -> Expected:
    """By the active records, of one component if given."""
    from matcher.benefit import story

    compared = set(database.compared_records())
    measured, gains = {}, array("d")
    for number, gain in database.active_gains(component):
        if number in compared:
            measured[number] = gain
        else:
            gains.append(gain)
    in_production = 0
    for number, gain in measured.items():
        found = story.measured(database.compared(number, since=story.since(database.record(number)))).gain
        gains.append(gain if found is None else found)
        in_production += found is not None
    return Expected(statistics.median(gains) if gains else ASSUMED_GAIN, len(gains), in_production)


def rows(classes: Sequence[UnmatchedClass], gain: float, reader: Reader) -> Iterator[tuple[str, ...]]:
    """The cells of each class under HEADINGS."""
    for rank, one in enumerate(classes, 1):
        seen = reader.sees(one.uid)
        yield (
            str(rank),
            one.user if seen else HIDDEN,
            one.application if seen else HIDDEN,
            "" if one.nodes is None else str(one.nodes),
            str(one.jobs),
            f"{one.node_hours:.1f}",
            f"{one.node_hours * gain:.1f} node-hours",
        )


def document(
    classes: Sequence[UnmatchedClass], found: Expected, reader: Reader, campaign_of: Callable[[int], str | None]
) -> dict[str, Any]:
    """For programs. Keys are only ever added within a version. `campaign_of`: the file that was written for a rank."""
    return {
        "version": JSON_VERSION,
        "expected": asdict(found),
        "classes": [
            {
                "rank": rank,
                "user": one.user if reader.sees(one.uid) else None,
                "program": one.application if reader.sees(one.uid) else None,
                "nodes": one.nodes,
                "jobs": one.jobs,
                "node_hours": one.node_hours,
                "saving": one.node_hours * found.gain,
                "decision": one.decision_id,
                "campaign": campaign_of(rank),
                "hidden": not reader.sees(one.uid),
            }
            for rank, one in enumerate(classes, 1)
        ],
    }
