# SPDX-License-Identifier: Apache-2.0
"""Classes of jobs without a similar record, ranked by the node-hours that a record would be expected to save."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reprise.database.entities import UnmatchedClass
from reprise.matcher.support.explanation import HIDDEN
from reprise.matcher.support.jobs.expected_gains import Gains, median
from reprise.matcher.support.staff import Reader

JSON_VERSION = 1
HEADINGS = (
    *("rank", "user", "program", "nodes", "jobs", "node-hours"),
    *("expected gain", "judged by", "expected saving"),
)


@dataclass(frozen=True)
class Expected:
    """Expected gain of a new record: the median gain of `records` active records, or ASSUMED_GAIN if there are none.

    `in_production` is how many of these records have a gain that was measured in production, with held-out jobs.
    """

    gain: float
    records: int
    in_production: int

    @classmethod
    def of(cls, gains: Gains) -> Expected:
        """Return the expected gain, computed from the gains of active records."""
        return cls(median(gains.every), len(gains.every), gains.in_production)

    def text(self) -> str:
        """Return the expected gain as one line of text."""
        if not self.records:
            return f"Expected gain {self.gain:.1%}: assumed, since no record is active"
        return (
            f"Expected gain {self.gain:.1%}: the median of {self.records} active record{'s' * (self.records != 1)} "
            f"({self.in_production} measured in production); estimated from similar records where there are any"
        )


def ranked(classes: Sequence[UnmatchedClass], gains: Gains) -> Sequence[UnmatchedClass]:
    """Return the classes with their expected gains, in decreasing order of expected savings; ties keep their order."""
    of_all = median(gains.every)
    judged = [gains.judged(one, of_all) for one in classes]
    return sorted(judged, key=lambda one: -one.node_hours * (one.gain or 0.0))


def gain_of(one: UnmatchedClass, found: Expected) -> float:
    """Return the gain that is expected for a class; if none was estimated for it, the gain expected of any record."""
    return found.gain if one.gain is None else one.gain


def basis_text(of_program: int, of_user: int, in_vain: int) -> str:
    """Return the numbers of records and campaigns on which an expected gain is based; "all" means all records."""
    counts = ((of_program, "of the program"), (of_user, "of the user"), (in_vain, "fruitless"))
    return ", ".join(f"{count} {what}" for count, what in counts if count) or "all"


def rows(classes: Sequence[UnmatchedClass], found: Expected, reader: Reader) -> Iterator[tuple[str, ...]]:
    """Yield the table cells of each class of jobs, in the order of HEADINGS."""
    for rank, one in enumerate(classes, 1):
        seen = reader.sees(one.uid)
        yield (
            str(rank),
            one.user if seen else HIDDEN,
            one.application if seen else HIDDEN,
            "" if one.nodes is None else str(one.nodes),
            str(one.jobs),
            f"{one.node_hours:.1f}",
            f"{gain_of(one, found):.1%}",
            basis_text(one.of_program, one.of_user, one.in_vain),
            f"{one.node_hours * gain_of(one, found):.1f} node-hours",
        )


def document(
    classes: Sequence[UnmatchedClass], found: Expected, reader: Reader, campaign_of: Callable[[int], str | None]
) -> dict[str, Any]:
    """Return the classes as JSON-ready data; `campaign_of` returns the path of the campaign file for a rank, if any.

    Within a version, keys are only added.
    """
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
                "gain": gain_of(one, found),
                "of_program": one.of_program,
                "of_user": one.of_user,
                "in_vain": one.in_vain,
                "saving": one.node_hours * gain_of(one, found),
                "decision": one.decision_id,
                "campaign": campaign_of(rank),
                "hidden": not reader.sees(one.uid),
            }
            for rank, one in enumerate(classes, 1)
        ],
    }
