# SPDX-License-Identifier: Apache-2.0
"""The daemon's metrics. Labels are few and fixed: never a user, a job, a program or a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


class Metrics:
    """Counters that keep nothing, for a daemon without metrics; `matcher.daemon.prometheus.Counted` keeps them."""

    def decided(self, verdict: str, seconds: float) -> None:
        """Count a decision that took `seconds`."""

    def refused(self, why: str) -> None:
        """Count a request that was not answered.

        `why` is "request" (it was wrong), "defect" (the matcher failed), "rate" (too many requests of one user or host
        within a short time), or "connections" (too many at once).
        """

    def late(self) -> None:
        """Count an answer whose client had gone."""

    def reported(self, state: str, verdict: str, failed: bool | None) -> None:
        """Count a job's report: `started`, `step` (its first) or `ended`; `failed` is set for an end."""


@dataclass(frozen=True)
class Gauges:
    """Metrics that are looked up on each request.

    `records`: counts by component and status. `rows`: approximate row counts of some tables. `newest`: Unix seconds at
    which the newest record was made, None if there is none.
    """

    records_known: Callable[[], int]
    records: Callable[[], Mapping[tuple[str, str], int]]
    rows: Callable[[], Mapping[str, int]]
    newest: Callable[[], float | None]
    writes_waiting: Callable[[], int]
    waiting_bytes: Callable[[], int]
    writes_dropped: Callable[[], int]
    stored_short: Callable[[], int]
    not_stored: Callable[[], int]
    quarantines: Callable[[], int]
    mode: Callable[[], str]
    holdout: Callable[[], float]
    database_bytes: Callable[[], int]
