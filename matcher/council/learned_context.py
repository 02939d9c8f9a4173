# SPDX-License-Identifier: Apache-2.0
"""Knowledge about one context, and how reports change it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from reprise.matcher.council.bandit import LEAST_REWARD, Bandit
from reprise.matcher.council.council_settings import CouncilSettings
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.harm_budget import Harm, lost_bytes


class Context:
    """A context's bandit, and the harm that exploring did to it."""

    def __init__(self, settings: CouncilSettings, bandit: Bandit | None = None, harm: Harm | None = None) -> None:
        self._settings = settings
        self.bandit = bandit or Bandit(settings)
        self.harm = harm or Harm()

    @property
    def may_explore(self) -> bool:
        """Whether the budget of harm allows another round of exploring."""
        return self._settings.harm_share >= 1 or self.harm.within(self._settings.harm_share, self._settings.horizon)

    def credit(self, reports: Sequence[Report], voted: int) -> bool:
        """Learn from the reports of a round, all in this context; return whether any of them had full load.

        Each report credits the window that was in force during its measurement. If that is not `voted`, the last
        window that was chosen by vote, the report counts as explored, and its loss is estimated.

        Each report is credited with the mean reward of all reports on the same window. The mean of the window is the
        same, but forwarders that serve different numbers of clients do not look like noise.
        """
        low = [report for report in reports if has_low_load(report, self.bandit)]
        rewards: dict[int, list[float]] = {}
        for report in reports:
            if (value := reward(report, self.bandit)) >= LEAST_REWARD:
                rewards.setdefault(report.window, []).append(value)
        for window, values in rewards.items():
            for _ in values:
                self.bandit.update(window, fmean(values))
        lost = sum(self._lost(report) for report in reports if report.window != voted and report not in low)
        self.harm = self.harm.after(sum(report.bytes for report in reports), lost, self._settings.horizon)
        return len(low) < len(reports)

    def _lost(self, report: Report) -> float:
        arm = self.bandit.arms.get(report.window)
        return lost_bytes(report.bytes, arm.mean, self.bandit.best_mean) if arm and arm.tries else 0.0


def has_low_load(report: Report, bandit: Bandit) -> bool:
    """Return whether clients requested less than was moved before, so that the bandwidth shows their demand.

    The comparison is with the mean of the window in force, or of the best window if that one was never measured.
    """
    return report.load is not None and report.load < _moved_before(report, bandit)


def reward(report: Report, bandit: Bandit) -> float:
    """Return the reward in MB/s for the window in force; 0 if the report says nothing about the window.

    It is the bandwidth, unless the load was low (Bez 2020, section 4.2.6, mentions that demand limits bandwidth). With
    a low load, it is the window's mean times the share of the load that was served: a window that serves everything
    keeps its estimate. A window that was never measured gets no reward then.
    """
    if not has_low_load(report, bandit):
        return report.bandwidth
    arm = bandit.arms.get(report.window)
    if not arm or not report.load:
        return 0.0
    return arm.mean * min(1.0, report.bandwidth / report.load)


def _moved_before(report: Report, bandit: Bandit) -> float:
    arm = bandit.arms.get(report.window)
    return arm.mean if arm and arm.tries else bandit.best_mean
