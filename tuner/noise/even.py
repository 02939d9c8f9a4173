# SPDX-License-Identifier: Apache-2.0
"""Policy that runs all points of a small space equally often, for campaigns whose result is a curve, not a winner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from reprise.config import Section
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.noise.noise_policy import Evaluation, observed, sound, waiting, winner


class EvenSettings(Section):
    """Settings of `even`."""

    evaluations: int = Field(3, ge=1, description="total number of evaluations of each point")


class Even:
    """Rounds of all points, each round in another random order.

    Rounds spread slow changes of the machine over all points. The search proposes as many points as the budget can
    evaluate `evaluations` times, or fewer if there are no more; then the rounds begin. Points that failed or were
    stopped are not repeated.
    """

    def __init__(self, space: Space, budget: int, seed: int, settings: EvenSettings) -> None:
        self._space = space
        self._budget = budget
        self._seed = seed
        self._evaluations = settings.evaluations

    def again(
        self,
        history: Sequence[Evaluation],
        pending: Sequence[Parametrization] = (),
        stopped: int | None = None,
        budget: int | None = None,
    ) -> Parametrization | None:
        """Return the point to evaluate once more now, or None if the search should propose a point."""
        running = waiting(pending, self._space)
        every = observed(history, self._space)
        possible = (self._budget if budget is None else min(budget, self._budget)) // self._evaluations
        if stopped is None and len({*every, *running}) < max(possible, 1):
            return None
        known = {key: point for key, point in every.items() if sound(point)}
        runs = {key: len(point.values) + running.get(key, 0) for key, point in known.items()}
        fewest = min(runs.values(), default=self._evaluations)
        if fewest >= self._evaluations:
            return None
        due = sorted((key for key, count in runs.items() if count == fewest), key=str)
        draw = np.random.default_rng([self._seed, sum(runs.values())]).integers(len(due))
        return known[due[int(draw)]].point

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """Return the best point by mean."""
        return winner(history, self._space)
