# SPDX-License-Identifier: Apache-2.0
"""Sentences about the access patterns that forwarders saw of a job, and whether its record was measured with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reprise.database.entities import JobPattern, Outcome, Record
from reprise.database.record_io_kinds import kinds_in
from reprise.matcher.detection.record_patterns import otherwise
from reprise.matcher.support.job_story import Story

SHOWN = 4
"""Maximum number of a job's patterns that are named; further ones are counted."""
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def pattern_texts(story: Story) -> Iterator[str]:
    """Yield lines on the patterns of each run of a job, and on records that were measured with others."""
    for outcome in story.outcomes:
        patterns = story.patterns.get(outcome.id)
        if patterns:
            yield _seen_text(patterns)
            yield from _difference_text(story, outcome, patterns)


def _seen_text(patterns: Sequence[JobPattern]) -> str:
    total = sum(one.bytes for one in patterns)
    named = ", ".join(f"{one.pattern} {_share(one.bytes, total)} in {one.seconds:.0f} s" for one in patterns[:SHOWN])
    more = f", and {len(patterns) - SHOWN} more patterns" if len(patterns) > SHOWN else ""
    return f"I/O patterns that forwarders saw, of {_size(total)}: {named}{more}"


def _difference_text(story: Story, outcome: Outcome, patterns: Sequence[JobPattern]) -> Iterator[str]:
    record = _record_of(story, outcome)
    if record is None or not (kinds := kinds_in(record.parametrization)):
        return
    if otherwise(patterns, kinds):
        yield (
            f"Record {record.id} was measured with {', '.join(kinds)}, and most bytes of this job have other patterns: "
            "its bandwidths do not hold for this job, and it was a wrong match, whatever its score"
        )


def _record_of(story: Story, outcome: Outcome) -> Record | None:
    """Return the record of the decision that a run had; its parametrization is empty if it is another user's."""
    decisions = [one.decision for one in story.decisions if one.decision.id == outcome.decision_id]
    numbers = [one.record_id for one in decisions if one.record_id is not None]
    return story.records.get(numbers[0]) if numbers and numbers[0] not in story.hidden else None


def _share(part: int, total: int) -> str:
    return f"{part / total:.0%}" if total else "0%"


def _size(size: int) -> str:
    for unit, name in UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
