# SPDX-License-Identifier: Apache-2.0
"""Access patterns in a forwarder's report, and the one to which the forwarder's bandwidth is credited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reprise.matcher.council.access_pattern import Pattern
from reprise.matcher.council.pattern_detector import Detector, detected_pattern
from reprise.matcher.windows.report_message import Measured

MOST_DETECTIONS = 16
"""Maximum number of jobs and operations of a report that are classified; a detector may take 5 ms for each."""


Classified = Sequence[tuple[Measured, Pattern | None]]


def classified(measured: Sequence[Measured], detector: Detector) -> Classified:
    """Return the jobs and operations that moved most bytes, with their patterns; None if unknown."""
    busiest = sorted(measured, key=lambda one: -one.bytes)[:MOST_DETECTIONS]
    return [(one, detected_pattern(detector, one.features)) for one in busiest if one.bytes]


def dominant_pattern(found: Classified, total: int) -> Pattern | None:
    """Return the pattern of more than half of all `total` bytes; None if there is none.

    The bandwidth of a forwarder is that of all its jobs together, so it may be credited to a pattern only if this
    pattern made most of it.
    """
    moved = Counter[Pattern | None]()
    for one, pattern in found:
        moved[pattern] += one.bytes
    most = [pattern for pattern, count in moved.items() if 2 * count > total]
    return most[0] if most else None
