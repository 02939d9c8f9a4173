# SPDX-License-Identifier: Apache-2.0
"""The one access pattern to which a forwarder's bandwidth is credited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reprise.matcher.council.access_pattern import Pattern
from reprise.matcher.council.pattern_detector import Detector, detected_pattern
from reprise.matcher.windows.report_message import Measured

MOST_DETECTIONS = 16
"""Maximum number of jobs and operations of a report that are classified; a detector may take 5 ms for each."""


def dominant_pattern(measured: Sequence[Measured], detector: Detector) -> Pattern | None:
    """Return the pattern of more than half of the bytes; None if there is none.

    The bandwidth of a forwarder is that of all its jobs together, so it may be credited to a pattern only if this
    pattern made most of it.
    """
    moved = Counter[Pattern | None]()
    for one in sorted(measured, key=lambda one: -one.bytes)[:MOST_DETECTIONS]:
        if one.bytes:
            moved[detected_pattern(detector, one.features)] += one.bytes
    total = sum(one.bytes for one in measured)
    found = [pattern for pattern, count in moved.items() if 2 * count > total]
    return found[0] if found else None
