# SPDX-License-Identifier: Apache-2.0
"""Steps of the council's service: a report becomes a reward of a pattern, and reports become a decision."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field

from reprise.eventlog import Throttle, line
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.pattern_detector import Detector
from reprise.matcher.council.window_council import Council, Mode
from reprise.matcher.detection.seen_patterns import SeenPatterns
from reprise.matcher.windows.dominant_pattern import classified, dominant_pattern
from reprise.matcher.windows.job_consent import Consents
from reprise.matcher.windows.report_message import ForwarderMessage

log = logging.getLogger(__name__)


OBSTACLE_S = 60.0
"""Minimum seconds between two lines that say why nothing is explored."""


@dataclass(frozen=True)
class Announcement:
    """A decision for all forwarders: its number, and windows in microseconds, as in `decision_line`."""

    number: int
    window: int
    keep: int


@dataclass
class Counts:
    """Numbers for the metrics."""

    reports: int = 0
    missed: int = 0
    waited_s: float = 0.0
    decisions: Counter[Mode] = field(default_factory=Counter)


class Deliberation:
    """The council with its detector and the consents of jobs. Times are from one clock that never goes back.

    `seen` are the patterns of jobs that were not taken yet.
    """

    def __init__(self, council: Council, detector: Detector, consents: Consents) -> None:
        self.council = council
        self.consents = consents
        self.counts = Counts()
        self.seen = SeenPatterns()
        self._detector = detector
        self._number = 0
        self._opened_at: float | None = None
        self._throttle = Throttle()
        self._obstacle = ""
        self._obstacle_at = -OBSTACLE_S

    @property
    def deadline(self) -> float | None:
        """Time at which a decision is due at the latest; None if no forwarder has reported since the last one."""
        return self.council.round.deadline

    def take(self, message: ForwarderMessage, now: float) -> Report:
        """Take a forwarder's report, and return it with its pattern."""
        found = classified(message.measured, self._detector)
        for one, pattern in found:
            self.seen.see(one.job, pattern, one.seconds, one.bytes, one.user)
        report = Report(
            message.name,
            dominant_pattern(found, sum(one.bytes for one in message.measured)),
            message.bytes,
            message.bandwidth,
            message.window,
            message.load,
            opted_out=self.consents.opted_out(message.jobs, now),
        )
        if self._opened_at is None:
            self._opened_at = now
        self.council.round.receive(report, now)
        self.counts.reports += 1
        return report

    def leave(self, name: str) -> None:
        """Stop waiting for a forwarder that has ended, or that can get no decision."""
        self.council.round.leave(name)

    def is_over(self, now: float) -> bool:
        """Return whether a decision is due."""
        return self.council.round.is_over(now)

    def decide(self, now: float) -> Announcement:
        """Decide, and return the announcement."""
        before = self.council.learned.window
        decision = self.council.decide()
        keep = self.council.learned.window
        self._number += 1
        self.counts.decisions[decision.mode] += 1
        self.counts.missed += len(decision.missing)
        self.counts.waited_s += now - self._opened_at if self._opened_at is not None else 0.0
        self._opened_at = None
        if decision.missing:
            self._throttle.warning(log, "missing", forwarders=",".join(decision.missing))
        if keep != before:
            votes = ",".join(f"{window}:{count}" for window, count in sorted(decision.votes.items()))
            log.info(line("window", microseconds=keep, before=before, votes=votes))
        self._explain(decision.obstacle, now)
        return Announcement(self._number, decision.window, keep)

    def _explain(self, obstacle: str, now: float) -> None:
        """Log why nothing is explored, if that is another reason than before; load and budget may change often."""
        if obstacle and obstacle != self._obstacle and now - self._obstacle_at >= OBSTACLE_S:
            log.info(line("not-exploring", why=obstacle))
            self._obstacle, self._obstacle_at = obstacle, now
