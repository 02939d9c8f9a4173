# SPDX-License-Identifier: Apache-2.0
"""Our own policy, the default: model the noise, and measure again where that is expected to improve the choice.

The knowledge gradient (Frazier, Powell and Dayanik 2009, for correlated means) of a run is by how much it is expected
to lower the least posterior mean of the measured points. During the search a point is repeated where that promises more
than any new point does. The last share of the budget belongs to the leaders: each run goes where it is expected to help
the choice among them most, so that they are repeated in turn and spread over time; a point that has fallen behind gets
no more, and where nothing is in doubt the search has the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tuner.noise import model
from tuner.noise.base import Evaluation, contenders, observed, sound, waiting, winner
from tuner.noise.model import Array, Data, Posterior
from tuner.noise.settings import within
from tuner.search import grid
from tuner.search.base import Key, Observation
from tuner.search.encoding import encode
from tuner.space import Parametrization, Space

FEWEST = 5  # measured points that a model needs
FRESH = 1_000  # new points, drawn at random, that a repetition is compared with; the most promising of them:
PROMISING = 200
NODES = np.linspace(-4, 4, 33)  # of a standard normal variable
MASSES = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
REFIT = 1.3  # the model's parameters are fitted anew when the history is longer by this factor


@dataclass(frozen=True)
class RacingSettings:
    """`share`: of the budget, at its end, for the leaders. `least`: the expected gain below which a repetition among
    them is not worth its run, relative to the value."""

    share: float = 0.2
    least: float = 0.0005

    def __post_init__(self) -> None:
        within("share", self.share, 0.0, 1.0)
        within("least", self.least, 0.0)


class Racing:
    """The policy. It keeps what it fitted to the last prefix of the history, to be quick; that changes no answer."""

    def __init__(self, space: Space, budget: int, seed: int, settings: RacingSettings) -> None:
        self._space = space
        self._budget = budget
        self._seed = seed
        self._settings = settings
        self._fitted: tuple[list[Evaluation], Array] = [], model.PRIOR_MEAN

    def again(
        self, history: Sequence[Evaluation], pending: Sequence[Parametrization] = (), stopped: int | None = None
    ) -> Parametrization | None:
        known = observed(history, self._space)
        measured = {key: point for key, point in known.items() if point.values}
        if len(measured) < FEWEST or all(one.initial for one in history):
            return None
        running = waiting(pending, self._space)
        left, share = self._left(len(history) + len(pending), stopped)
        fresh = self._fresh({*known, *running}) if left > share else []
        posterior = self._posterior(history, measured, fresh)
        for index, key in enumerate(measured):
            for _ in range(running.get(key, 0)):
                posterior = posterior.with_run(index)
        able = np.array([sound(point) for point in measured.values()])
        if left <= 0 or not able.any():
            return None
        gains = knowledge_gradient(posterior, len(measured), able)
        points = list(measured.values())
        if fresh:
            chosen = int(np.argmax(np.where(able, gains[: len(points)], 0)))
            return points[chosen].point if gains[chosen] > gains[len(points) :].max() else None
        gains = np.where(able, gains[: len(points)], 0)
        leader = int(np.argmin(np.where(able, posterior.mean[: len(points)], np.inf)))
        if len(points[leader].values) + running.get(list(measured)[leader], 0) < 2:
            return points[leader].point
        chosen = int(np.argmax(gains))
        return points[chosen].point if gains[chosen] > self._least(history) else None

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """The lowest posterior mean among the points with two samples; of few points, the lowest mean."""
        measured = {key: point for key, point in observed(history, self._space).items() if point.values}
        if len(measured) < FEWEST:
            return winner(history, self._space)
        able = {self._space.key(point.point) for point in contenders(measured.values())}
        means = self._posterior(history, measured, []).mean
        ranked = [(mean, index) for index, (key, mean) in enumerate(zip(measured, means, strict=True)) if key in able]
        return list(measured.values())[min(ranked)[1]].point if ranked else None

    def _left(self, runs: int, stopped: int | None) -> tuple[float, float]:
        """Runs that are left, and how many of the last ones belong to the leaders (of a stopped search: as many
        as if its budget ended with them)."""
        share, budget = self._settings.share, self._budget
        if stopped is not None:
            budget = min(budget, max(math.ceil(stopped / max(1 - share, 0.1)), stopped + 2))
            return budget - runs, math.inf
        return budget - runs, max(share * budget, 2)

    def _fresh(self, known: set[Key]) -> list[Parametrization]:
        """New points at random: the same however often it is asked with the same number of known points."""
        rng = np.random.default_rng([self._seed, len(known)])
        drawn = islice(grid.shuffled(self._space, rng), FRESH + len(known))
        return [point for point in drawn if self._space.key(point) not in known][:FRESH]

    def _posterior(
        self, history: Sequence[Evaluation], measured: dict[Key, Observation], fresh: Sequence[Parametrization]
    ) -> Posterior:
        data = self._data(history, list(measured))
        wanted = encode(self._space, fresh) if fresh else np.empty((0, data.sites.shape[1]))
        return model.posterior(data, self._parameters(history), wanted)

    def _data(self, history: Sequence[Evaluation], keys: Sequence[Key]) -> Data:
        """The measured runs; those that failed or were stopped are left out. Logarithms where all are positive."""
        row = {key: index for index, key in enumerate(keys)}
        runs = [(when, one) for when, one in enumerate(history) if one.value is not None and not one.censored]
        values = np.array([one.value for _, one in runs], dtype=np.float64)
        names = [parameter.name for parameter in self._space.parameters]
        return Data(
            encode(self._space, [dict(zip(names, key, strict=True)) for key in keys]),
            np.array([row[self._space.key(one.point)] for _, one in runs]),
            np.array([when for when, _ in runs], dtype=np.float64),
            np.log(values) if _positive(history) else values,
        )

    def _parameters(self, history: Sequence[Evaluation]) -> Array:
        """Fitted to the longest prefix of the history of which the length is a power of `REFIT`, rounded down."""
        power = math.floor(math.log(len(history)) / math.log(REFIT) + 1e-9)
        prefix = list(history[: int(REFIT**power)])
        if prefix != self._fitted[0]:
            measured = {key: point for key, point in observed(prefix, self._space).items() if point.values}
            enough = len(measured) >= FEWEST
            theta = model.fit(self._data(prefix, list(measured))) if enough else model.PRIOR_MEAN
            self._fitted = prefix, theta
        return self._fitted[1]

    def _least(self, history: Sequence[Evaluation]) -> float:
        if _positive(history):
            return self._settings.least
        return self._settings.least * max(abs(one.value) for one in history if one.value is not None)


def _positive(history: Sequence[Evaluation]) -> bool:
    return all(one.value > 0 for one in history if one.value is not None)


def knowledge_gradient(posterior: Posterior, measured: int, able: Array) -> Array:
    """Of one more run of each point: by how much it is expected to lower the least mean of the `able` measured points.

    Shape (points,). A run of point i moves the mean of j by cov(j, i) / sqrt(var(i) + noise) times a standard normal
    variable, over which is integrated numerically. A point that is not measured yet counts with its own mean once it
    is; of those only the most promising are looked at, by mean - 2 deviations, and the gain of the others is 0.
    """
    mean, variance = posterior.mean, posterior.variance
    best = mean[:measured][able].min()
    bound = mean[measured:] - 2 * np.sqrt(variance[measured:])
    looked = np.concatenate([np.arange(measured), measured + np.argsort(bound)[:PROMISING]])
    spread = np.sqrt(variance[looked] + posterior.noise)
    moves = posterior.covariance[looked][:, able] / spread[:, None]
    lowest = (mean[:measured][able][None, None, :] + moves[:, None, :] * NODES[None, :, None]).min(axis=2)
    own = mean[looked][:, None] + (variance[looked] / spread)[:, None] * NODES
    lowest = np.where((looked >= measured)[:, None], np.minimum(lowest, own), lowest)
    gains = np.zeros(len(mean))
    gains[looked] = np.maximum(best - lowest @ MASSES, 0)
    return gains
