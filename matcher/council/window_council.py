# SPDX-License-Identifier: Apache-2.0
"""The council: one window for all forwarders in each round, learned from their reports (Bez 2020, algorithm 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from reprise.matcher.council.access_pattern import Pattern
from reprise.matcher.council.bandit import LEAST_REWARD
from reprise.matcher.council.council_settings import CouncilSettings, Learner
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.learned_context import Context
from reprise.matcher.council.report_round import Round


class Mode(StrEnum):
    """How a window was chosen."""

    EXPLORE = "explore"  # to measure it
    EXPLOIT = "exploit"  # by vote
    KEEP = "keep"  # nobody voted, so the last window that was voted for is used, or the default one


@dataclass(frozen=True)
class Learned:
    """Knowledge that outlives the council: the last window chosen by vote in microseconds, and all contexts."""

    window: int
    contexts: Mapping[Pattern, Context]


@dataclass(frozen=True)
class Decision:
    """The window that all forwarders use next, in microseconds.

    `votes` has the number of forwarders by window that they would choose. `missing` are the forwarders that did not
    report in time. `obstacle` is the reason why this round could not explore, "" if it could.
    """

    window: int
    mode: Mode
    votes: Mapping[int, int]
    missing: Sequence[str]
    obstacle: str


class Council:
    """State of the learner. The caller passes reports and times, and announces each decision to all forwarders.

    Args:
        settings: How to learn.
        rng: Source of random numbers; decisions are reproducible with an equal source and equal reports.
        hosts: Forwarders to wait for in the first round.
        learned: Knowledge to begin with.
    """

    def __init__(
        self, settings: CouncilSettings, rng: Random, hosts: Iterable[str] = (), learned: Learned | None = None
    ) -> None:
        self._settings = settings
        self._rng = rng
        self.round = Round(hosts, settings.timeout)
        self.contexts = dict(learned.contexts) if learned else {}
        self.window = self._voted = learned.window if learned else settings.default_window

    @property
    def learned(self) -> Learned:
        """The knowledge so far."""
        return Learned(self._voted, self.contexts)

    def decide(self) -> Decision:
        """End the round, learn from its reports, and choose the window in force until the next decision.

        Reports without a known pattern or without bandwidth neither teach nor vote. With a majority of votes, the
        window that most forwarders prefer is chosen; among equals the window in force, else the smallest. Without
        votes, it is the default one if anything was moved, whose pattern may need it, and else the last one by vote.
        """
        reports, missing = self.round.close()
        active = _by_pattern(reports)
        full = [
            self.contexts.setdefault(pattern, Context(self._settings)).credit(these, self._voted)
            for pattern, these in active.items()
        ]
        obstacle = self._obstacle(active, any(full))
        if any(report.bandwidth >= LEAST_REWARD for report in reports):
            fallback = self._settings.default_window
        else:
            fallback = self._voted
        exploit = self._votes(active, explore=False)
        chosen, votes = self._majority(exploit, fallback), exploit
        if self._settings.learner is Learner.UCB1 and not obstacle:
            votes = self._votes(active, explore=True)
            self.window = self._majority(votes, fallback)
        else:
            self.window = chosen if obstacle or not self._explores(active) else self._explored(active)
        self._voted = chosen
        mode = Mode.EXPLORE if self.window != chosen else Mode.EXPLOIT if exploit else Mode.KEEP
        return Decision(self.window, mode, votes, missing, obstacle)

    def _obstacle(self, active: Mapping[Pattern, Sequence[Report]], full: bool) -> str:
        """Return why this round must not explore, "" if it may.

        A window is announced to all forwarders, so that one job that opted out, or one context without budget, is
        enough. With a low load everywhere, exploring would teach nothing.
        """
        if self.round.opted_out:
            return f"{self.round.opted_out[0]} serves a job that opted out"
        if not active:
            return "no forwarder reported a known pattern"
        if not full:
            return "the load is low"
        spent = next((pattern for pattern in active if not self.contexts[pattern].may_explore), None)
        return f"exploring has used up the budget of {spent}" if spent else ""

    def _votes(self, active: Mapping[Pattern, Sequence[Report]], *, explore: bool) -> Counter[int]:
        """Return the number of forwarders by preferred window; those of one context agree."""
        votes = Counter[int]()
        for pattern, reports in active.items():
            bandit = self.contexts[pattern].bandit
            if bandit.tries:
                votes[bandit.upper(self._rng) if explore else bandit.greedy(self._rng)] += len(reports)
        return votes

    def _majority(self, votes: Counter[int], fallback: int) -> int:
        if not votes:
            return fallback
        most = max(votes.values())
        windows = [window for window, count in votes.items() if count == most]
        return self.window if self.window in windows else min(windows)

    def _explores(self, active: Mapping[Pattern, Sequence[Report]]) -> bool:
        """Return whether an epsilon-greedy round explores; one random number decides for all forwarders."""
        chance = self._settings.first_epsilon if self._untried(active) else self._settings.epsilon
        return self._rng.random() < chance

    def _explored(self, active: Mapping[Pattern, Sequence[Report]]) -> int:
        """Return a random window to explore, among those never measured in an active context if there are any."""
        return self._rng.choice(self._untried(active) or self._settings.windows)

    def _untried(self, active: Mapping[Pattern, Sequence[Report]]) -> list[int]:
        missing = {window for pattern in active for window in self.contexts[pattern].bandit.untried}
        return [window for window in self._settings.windows if window in missing]


def _by_pattern(reports: Sequence[Report]) -> dict[Pattern, list[Report]]:
    """Return the reports with a known pattern and a bandwidth, by pattern, in their order."""
    found: dict[Pattern, list[Report]] = {}
    for report in reports:
        if report.pattern is not None and report.bandwidth >= LEAST_REWARD:
            found.setdefault(report.pattern, []).append(report)
    return found
