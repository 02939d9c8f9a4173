# SPDX-License-Identifier: Apache-2.0
"""Policies that repeat a point by a simple rule: never, a fixed number of times, or until its mean is accurate."""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections.abc import Sequence

from pydantic import Field

from reprise.config import Section
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.model.statistics import measurement
from reprise.tuner.noise.noise_policy import Evaluation, observed, sound, unconfirmed, waiting, winner
from reprise.tuner.search.search_method import Observation


class Never:
    """A policy that evaluates every point once, for objectives without noise."""

    def __init__(self, space: Space, budget: int, seed: int, settings: Section) -> None:
        self._space = space

    def again(
        self,
        history: Sequence[Evaluation],
        pending: Sequence[Parametrization] = (),
        stopped: int | None = None,
        budget: int | None = None,
    ) -> Parametrization | None:
        """Return the point to evaluate once more now, or None if the search should propose a point."""
        return None

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """Return the best point."""
        return winner(history, self._space)


class PerPoint(ABC):
    """A policy that repeats the points of the search, but not those of the initial design (Robert 2021, chapter 5).

    Each point is repeated until `_enough` returns True, the oldest point first. Once the search has ended, the point
    with the best raw mean is also run again, whatever its origin. Points that failed or were stopped are not repeated.
    """

    def __init__(self, space: Space) -> None:
        self._space = space

    def again(
        self,
        history: Sequence[Evaluation],
        pending: Sequence[Parametrization] = (),
        stopped: int | None = None,
        budget: int | None = None,
    ) -> Parametrization | None:
        """Return the point to evaluate once more now, or None if the search should propose a point."""
        running = waiting(pending, self._space)
        initial = {self._space.key(one.point) for one in history if one.initial}
        known = observed(history, self._space)
        if stopped is not None and (raw := unconfirmed(known.values(), running, self._space)) is not None:
            return raw.point
        for key, point in known.items():
            if key not in initial and sound(point) and not self._enough(point, running.get(key, 0)):
                return point.point
        return None

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """Return the best point by mean."""
        return winner(history, self._space)

    @abstractmethod
    def _enough(self, point: Observation, running: int) -> bool:
        """Return whether a point needs no new run; `running` is the number of its runs in progress."""


class StaticSettings(Section):
    """Settings of `static`."""

    evaluations: int = Field(3, ge=1, description="total number of evaluations of each point")


class Static(PerPoint):
    """A fixed number of evaluations of each point (Robert 2021, chapter 5).

    The published algorithm repeats a point while `count <= n`, but the published numbers of distinct points correspond
    to n evaluations in total, that is, `count < n`.
    """

    def __init__(self, space: Space, budget: int, seed: int, settings: StaticSettings) -> None:
        super().__init__(space)
        self._evaluations = settings.evaluations

    def _enough(self, point: Observation, running: int) -> bool:
        return len(point.values) + running >= self._evaluations


class SedrSettings(Section):
    """Settings of `sedr`."""

    width: float = Field(
        0.3, ge=1e-6, description="width of the 95 % interval of a point's mean, as a share of that mean"
    )
    most: int = Field(15, ge=2, description="maximum number of evaluations of one point")


class Sedr(PerPoint):
    """Standard error dynamic resampling (Robert 2021, chapter 5).

    A point is repeated until the 95 % interval of the mean, 2 h wide with h = t(0.975, n - 1) s / sqrt(n), is at most
    the share `width` of the mean. Robert 2021 prints the inverted test (repeat while the interval is narrow) and uses
    1.96 instead of t, which is 12.7 for two samples. `most` prevents one noisy point from using up the whole budget.
    """

    def __init__(self, space: Space, budget: int, seed: int, settings: SedrSettings) -> None:
        super().__init__(space)
        self._settings = settings

    def _enough(self, point: Observation, running: int) -> bool:
        if len(point.values) + running < 2:
            return False
        if len(point.values) < 2 or len(point.values) + running >= self._settings.most:
            return True  # either a running trial must end first, or the maximum is reached
        found = measurement(point.values, "")
        return found.high - found.low <= self._settings.width * abs(statistics.fmean(point.values))
