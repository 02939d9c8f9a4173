# SPDX-License-Identifier: Apache-2.0
"""The default policy, which models the noise and measures the candidates for the best point again.

The search measures new points until only a certain share of the budget is left. That share is reserved for the leaders,
the points that may be the best. In this phase, the point with the lowest posterior mean races against the point that
may still be better. This is the identification of the best arm by confidence bounds (LUCB, Kalyanakrishnan et al.
2012), with bounds from the model. The less certain of the two points runs next, so the runs of each point are spread
over time. A point that has fallen behind gets no more runs. If no other point may still be better, the search measures
a new point instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reprise.tuner.model.algebra import one_thread
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.noise import noise_model
from reprise.tuner.noise.noise_model import Array, Data, Posterior
from reprise.tuner.noise.noise_policy import Evaluation, contenders, observed, sound, unconfirmed, waiting, winner
from reprise.tuner.noise.racing_settings import RacingSettings
from reprise.tuner.search.encoding import encode
from reprise.tuner.search.search_method import Key

FEWEST = 5  # minimum number of measured points for a model
BOUND = 1.25  # number of posterior standard deviations by which a point may be better or worse than estimated
AGREEMENTS = 3  # there is no noise if this many repeated runs all equal their point's first run
REFIT = 1.1  # the model's parameters are fitted again each time the history has grown by this factor


class Racing:
    """The racing policy. The most recent fit of the model is cached, which does not affect any result."""

    def __init__(self, space: Space, budget: int, seed: int, settings: RacingSettings) -> None:
        self._space = space
        self._budget = budget
        self._settings = settings
        self._fitted: tuple[list[Evaluation], Array] = [], noise_model.PRIOR_MEAN

    def again(
        self,
        history: Sequence[Evaluation],
        pending: Sequence[Parametrization] = (),
        stopped: int | None = None,
        budget: int | None = None,
    ) -> Parametrization | None:
        """Return the point to evaluate once more now, or None if the search should propose a point."""
        left, share = self._left(len(history) + len(pending), stopped, budget)
        if not 0 < left <= share or all(one.initial for one in history):
            return None
        measured = {key: point for key, point in observed(history, self._space).items() if point.values}
        points = list(measured.values())
        able = np.array([sound(point) for point in points])
        if len(measured) < FEWEST or not able.any():
            return None
        running = waiting(pending, self._space)
        if (raw := unconfirmed(points, running, self._space)) is not None:
            return raw.point
        posterior = self._posterior(history, list(measured), 0 if stopped is not None else math.ceil(share - left))
        for index, key in enumerate(measured):
            for _ in range(running.get(key, 0)):
                posterior = posterior.with_run(index)
        mean, reach = np.where(able, posterior.mean, np.inf), BOUND * posterior.deviation
        leader = int(np.argmin(mean))
        if len(points[leader].values) + running.get(list(measured)[leader], 0) < 2:
            return points[leader].point
        others = np.where(np.arange(len(points)) == leader, np.inf, mean - reach)
        rival = int(np.argmin(others))
        if others[rival] >= mean[leader] + reach[leader] - self._least(history):
            return None
        return points[leader if reach[leader] >= reach[rival] else rival].point

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """Return the point with the lowest posterior mean among those with at least two samples.

        With few points, or if no point was run again, the point with the lowest mean wins.
        """
        measured = {key: point for key, point in observed(history, self._space).items() if point.values}
        if len(measured) < FEWEST or all(len(point.values) < 2 for point in measured.values()):
            return winner(history, self._space)
        able = {self._space.key(point.point) for point in contenders(measured.values())}
        means = self._posterior(history, list(measured)).mean
        ranked = [(mean, index) for index, (key, mean) in enumerate(zip(measured, means, strict=True)) if key in able]
        return list(measured.values())[min(ranked)[1]].point if ranked else None

    def _left(self, runs: int, stopped: int | None, budget: int | None) -> tuple[float, float]:
        """Return the number of runs left, and the number of runs at the budget's end that are reserved for the leaders.

        After a stop, the budget is reduced so that the trials so far are the search's share of it. All remaining runs
        go to the leaders.
        """
        share, budget = self._settings.share, self._budget if budget is None else min(self._budget, budget)
        if stopped is not None:
            budget = min(budget, max(math.ceil(stopped / max(1 - share, 0.1)), stopped + 2))
            return budget - runs, math.inf
        return budget - runs, max(share * budget, 2)

    def _posterior(self, history: Sequence[Evaluation], keys: Sequence[Key], given: int = 0) -> Posterior:
        """Return the posterior of the points.

        `given`: number of runs that the leaders have already used of their share. The higher this number, the more
        repeated runs must agree to rule out noise.
        """
        data = self._data(history, keys)
        if noise_model.agreements(data) >= int(math.log2(2**AGREEMENTS + given)):
            return noise_model.exact(data)
        with one_thread():
            return noise_model.on_average(data, noise_model.posterior(data, self._parameters(history)))

    def _data(self, history: Sequence[Evaluation], keys: Sequence[Key]) -> Data:
        """Return the completed runs as data for the model.

        If all values in the history are positive, the data contains their logarithms.
        """
        row = {key: index for index, key in enumerate(keys)}
        runs = [(when, one) for when, one in enumerate(history) if one.value is not None and not one.censored]
        values = np.array([one.value for _, one in runs], dtype=np.float64)
        positive = _positive(history)
        names = [parameter.name for parameter in self._space.parameters]
        return Data(
            encode(self._space, [dict(zip(names, key, strict=True)) for key in keys]),
            np.array([row[self._space.key(one.point)] for _, one in runs]),
            np.array([when for when, _ in runs], dtype=np.float64),
            np.log(values) if positive else values,
            positive,
        )

    def _parameters(self, history: Sequence[Evaluation]) -> Array:
        """Return the parameters fitted to a prefix of the history.

        The prefix is the longest one whose length is a power of `REFIT`, rounded down.
        """
        power = math.floor(math.log(len(history)) / math.log(REFIT) + 1e-9)
        prefix = list(history[: int(REFIT**power)])
        if prefix != self._fitted[0]:
            measured = {key: point for key, point in observed(prefix, self._space).items() if point.values}
            enough = len(measured) >= FEWEST
            theta = noise_model.fit(self._data(prefix, list(measured))) if enough else noise_model.PRIOR_MEAN
            self._fitted = prefix, theta
        return self._fitted[1]

    def _least(self, history: Sequence[Evaluation]) -> float:
        if _positive(history):
            return self._settings.least
        return self._settings.least * max(abs(one.value) for one in history if one.value is not None)


def _positive(history: Sequence[Evaluation]) -> bool:
    return all(one.value > 0 for one in history if one.value is not None)
