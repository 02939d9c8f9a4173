# SPDX-License-Identifier: Apache-2.0
"""What the daemon counts of itself. Labels are few and fixed: never a user, a job, a program or a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


class Metrics:
    """Counts nothing: for a daemon that nobody asks. `matcher.daemon.prometheus` has one that does."""

    def decided(self, verdict: str, seconds: float) -> None:
        """A decision was made, and how long that took."""

    def refused(self, why: str) -> None:
        """A request was not answered: `why` is "request", for one that is wrong, "defect", or for those of one user or
        host "rate", where they are too many within a short time, or "connections", at once."""

    def late(self) -> None:
        """Who had asked was gone when the answer was ready."""

    def reported(self, state: str, verdict: str, failed: bool | None) -> None:
        """A job said that it has `started`, or made its first `step`, or `ended`; `failed` is known of an end."""


@dataclass(frozen=True)
class Gauges:
    """What is looked up when somebody asks. `records` are counts by component and status, `rows` about how many
    some tables have; `newest` (Unix seconds) is when the newest record was made, None where there is none."""

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
