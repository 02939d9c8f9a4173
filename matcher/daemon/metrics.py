# SPDX-License-Identifier: Apache-2.0
"""Interface of the daemon's metrics. Labels have few, fixed values, and never name a user, job, program or path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reprise.database.campaign_progress import Progress


class Metrics:
    """Counters that do nothing, for a daemon without metrics; `matcher.daemon.prometheus.Counted` does count."""

    def decided(self, verdict: str, seconds: float) -> None:
        """Count a decision that had this verdict and took `seconds`."""

    def refused(self, why: str) -> None:
        """Count a request that was not answered.

        `why` is "request" (the request was invalid), "defect" (the matcher failed), "rate" (too many requests of one
        user or host within a short time), or "connections" (too many connections at once).
        """

    def late(self) -> None:
        """Count an answer that came after its client had disconnected."""

    def reported(self, state: str, verdict: str, failed: bool | None) -> None:
        """Count a job's report of its start, first step or end. `failed` is None unless the job has ended."""


@dataclass(frozen=True)
class Gauges:
    """Functions that return the current values of metrics; they are called each time the metrics are requested.

    `records` returns numbers of records by component and status. `rows` returns the approximate numbers of rows of some
    tables. `newest` returns the time when the newest record was made, in Unix seconds, or None if there is no record.
    `campaigns` returns the progress of the running campaigns.
    """

    records_known: Callable[[], int]
    records: Callable[[], Mapping[tuple[str, str], int]]
    rows: Callable[[], Mapping[str, int]]
    newest: Callable[[], float | None]
    campaigns: Callable[[], Progress]
    writes_waiting: Callable[[], int]
    waiting_bytes: Callable[[], int]
    writes_dropped: Callable[[], int]
    stored_short: Callable[[], int]
    not_stored: Callable[[], int]
    quarantines: Callable[[], int]
    mode: Callable[[], str]
    holdout: Callable[[], float]
    database_bytes: Callable[[], int]
