# SPDX-License-Identifier: Apache-2.0
"""A bandit: estimates of the windows in one context, and the window that is best by them.

The last rewards of each window are remembered (`CouncilSettings.memory`), so that estimates follow changes of the file
system. The alternatives were worse. A discount never forgets an outlier completely. One memory for all windows forgets
those that are tried rarely, after as little as an hour of a job that opted out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

from reprise.matcher.council.council_settings import CouncilSettings
from reprise.matcher.council.window_arm import Arm

LEAST_REWARD = 1e-6
"""Smallest reward in MB/s, a byte a second. Less is no bandwidth, and ratios of rewards stay finite."""


class Bandit:
    """Arms of one context, by window in microseconds."""

    def __init__(self, settings: CouncilSettings, arms: Mapping[int, Arm] | None = None) -> None:
        self._settings = settings
        known = arms or {}
        self.arms = {window: known.get(window, Arm()) for window in settings.windows}

    def update(self, window: int, reward: float) -> None:
        """Credit a window with a reward in MB/s.

        Rewards below `LEAST_REWARD` and windows that are not in the settings are ignored. A reward of zero says nothing
        about the window, because nothing was requested (Bez 2020, section 4.2.6).
        """
        if reward >= LEAST_REWARD and window in self.arms:
            self.arms[window] = self.arms[window].after(reward, self._settings.memory)

    @property
    def tries(self) -> int:
        """Number of rewards of all windows."""
        return sum(arm.tries for arm in self.arms.values())

    @property
    def best_mean(self) -> float:
        """Mean of the window that is best so far, in MB/s; 0 if nothing is known."""
        return max(arm.mean for arm in self.arms.values())

    @property
    def untried(self) -> list[int]:
        """Windows without a reward, in the order of the settings."""
        return [window for window, arm in self.arms.items() if not arm.tries]

    def greedy(self, rng: Random) -> int:
        """Return the window with the largest mean; one of them at random if there are several.

        With caution, return the default window instead if it was not measured, or if the difference may be noise.
        """
        best = _largest({window: arm.mean for window, arm in self.arms.items()}, rng)
        return best if not self._settings.caution or self._is_better(best) else self._settings.default_window

    def _is_better(self, window: int) -> bool:
        """Return whether a window's mean exceeds that of the default by `caution` standard errors.

        The variance is that of the rewards of all windows around their means, because a window may have one reward. It
        is unknown if rewards are not remembered.
        """
        arm, default = self.arms[window], self.arms[self._settings.default_window]
        if not default.tries:
            return False
        if not default.recent:
            return arm.mean > default.mean
        known = [one for one in self.arms.values() if one.recent]
        freedom = sum(len(one.recent) - 1 for one in known)
        squares = sum((reward - one.mean) ** 2 for one in known for reward in one.recent)
        if not freedom:
            return False
        error = math.sqrt(squares / freedom * (1 / (len(arm.recent) or 1) + 1 / len(default.recent)))
        return arm.mean - default.mean > self._settings.caution * error

    def upper(self, rng: Random) -> int:
        """Return UCB1's choice: an untried window, else the one with the largest sum of mean and bonus.

        Means are divided by the context's largest reward (the largest that is remembered), because the bonus is made
        for rewards between 0 and 1: with rewards in MB/s it would have no effect.
        """
        if untried := self.untried:
            return rng.choice(untried)
        scale = max(arm.peak for arm in self.arms.values()) if self._settings.normalized else 1.0
        now = self.tries + 1
        return _largest({window: arm.mean / scale + bonus(now, arm.tries) for window, arm in self.arms.items()}, rng)


def bonus(now: int, tries: int) -> float:
    """Return UCB1's bonus, sqrt(2 ln t / N), at time step t for an arm taken N > 0 times before (equation 4.2)."""
    return math.sqrt(2 * math.log(now) / tries)


def _largest(scores: Mapping[int, float], rng: Random) -> int:
    top = max(scores.values())
    windows = [window for window, score in scores.items() if score == top]
    return windows[0] if len(windows) == 1 else rng.choice(windows)
