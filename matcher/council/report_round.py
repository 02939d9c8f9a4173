# SPDX-License-Identifier: Apache-2.0
"""A round of reports: who must report, who has reported, and when to stop waiting."""

from __future__ import annotations

from collections.abc import Iterable

from reprise.matcher.council.forwarder_report import Report


class Round:
    """Barrier on the forwarders that are alive: one report from each, or a timeout (Bez 2020, algorithm 3).

    The algorithm of the thesis waits forever for a forwarder that died. Here, a forwarder that misses a timeout is
    not waited for again until it reports. Times are in seconds, from one clock that never goes back.
    """

    def __init__(self, hosts: Iterable[str], timeout: float) -> None:
        self.alive = set(hosts)
        self._timeout = timeout
        self._reports: dict[str, Report] = {}
        self._opened_at: float | None = None
        self._opted_out = set[str]()

    @property
    def deadline(self) -> float | None:
        """Time at which the round ends at the latest; None before its first report."""
        return None if self._opened_at is None else self._opened_at + self._timeout

    @property
    def opted_out(self) -> list[str]:
        """Forwarders that served a job that opted out of exploring when they last reported, sorted.

        A forwarder that is silent may still serve the job, so it is left out only after `leave`.
        """
        return sorted(self._opted_out)

    def receive(self, report: Report, now: float) -> None:
        """Take a report; it replaces an earlier one of the same forwarder in this round."""
        if self._opened_at is None:
            self._opened_at = now
        self.alive.add(report.host)
        self._reports[report.host] = report
        if report.opted_out:
            self._opted_out.add(report.host)
        else:
            self._opted_out.discard(report.host)

    def leave(self, host: str) -> None:
        """Stop waiting for a forwarder that has ended; a report that it sent before still counts."""
        self.alive.discard(host)
        self._opted_out.discard(host)

    def is_over(self, now: float) -> bool:
        """Return whether all forwarders that are alive have reported, or the time is over; False without a report."""
        if self.deadline is None:
            return False
        return self.alive <= self._reports.keys() or now >= self.deadline

    def close(self) -> tuple[list[Report], list[str]]:
        """Begin a new round; return this one's reports and the forwarders that missed it, both sorted by host.

        The order does not depend on when reports arrived, so that equal reports lead to equal decisions.
        """
        reports = [self._reports[host] for host in sorted(self._reports)]
        missing = sorted(self.alive - self._reports.keys())
        self.alive -= set(missing)
        self._reports, self._opened_at = {}, None
        return reports, missing
