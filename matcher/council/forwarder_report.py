# SPDX-License-Identifier: Apache-2.0
"""Report of a forwarder about the time since its last report."""

from __future__ import annotations

from dataclasses import dataclass

from reprise.matcher.council.access_pattern import Pattern


@dataclass(frozen=True)
class Report:
    """Measurements of one forwarder.

    Args:
        host: The forwarder's name.
        pattern: The detected pattern; None if it is unknown.
        bytes: Bytes that were moved.
        bandwidth: Bandwidth in MB/s (10^6 bytes a second).
        window: Window in force during the measurement, in microseconds.
        load: Bandwidth in MB/s that clients requested, including requests that waited at the beginning. None if
            requests waited all the time, so that clients could have used any bandwidth, and if it is unknown.
        opted_out: Whether the forwarder serves a job that opted out of exploring.
    """

    host: str
    pattern: Pattern | None
    bytes: int
    bandwidth: float
    window: int
    load: float | None = None
    opted_out: bool = False
