# SPDX-License-Identifier: Apache-2.0
"""Bayesian optimization: maximize expected improvement over the grid, with a Gaussian process as the model.

docs/explanation/search.md has the formulas and the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field

from reprise.config import Section
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search import grid_points, surrogate
from reprise.tuner.search.acquisition import log_expected_improvement
from reprise.tuner.search.encoding import axes, categories, encode
from reprise.tuner.search.search_method import Key, OpenedSearch
from reprise.tuner.search.value_scale import truncated_mean, warp

SAME = 1e-9  # log expected improvements within this distance of the highest are a tie, which the seed decides
CANDIDATES = 4_000  # number of random points that represent a grid that is too large to list
LEADERS = 10  # number of best observed points whose neighbors are candidates, too
CLIMB = 20  # maximum number of steps from the best candidate to better neighbors

LIES: Mapping[str, Callable[[Sequence[float]], float]] = {"worst": max, "mean": fmean, "best": min}

Vector = npt.NDArray[np.float64]


class Model(Protocol):
    """Interface of the model that the search uses."""

    def predict(self, wanted: Vector) -> tuple[Vector, Vector]:
        """Return the predicted mean and standard deviation for each row of `wanted`."""


class Settings(Section):
    """Settings of `gp-ei`."""

    kernel: Literal["matern52", "matern32", "rbf"] = Field("matern52", description="covariance function")
    values: Literal["log", "warped", "plain"] = Field(
        "log", description="transformation of the values before the model is fitted"
    )
    lie: Literal["worst", "mean", "best"] = Field("worst", description="value assumed for a pending point")


class GaussianProcessSearch(OpenedSearch):
    """A search that proposes the grid point with the greatest expected improvement.

    If the grid has more than `grid_points.LISTED` points, the search chooses among candidates only.
    """

    def __init__(
        self, space: Space, seed: int, opening: Sequence[Parametrization] = (), settings: Settings | None = None
    ) -> None:
        super().__init__(space, seed, opening)
        self._settings = settings or Settings()
        self._listed: tuple[Vector, dict[Key, int]] | None = None

    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        rng = np.random.default_rng([self._seed, self._told.evaluations, len(pending)])
        if not self._told:
            return grid_points.free(self._space, taken, rng)
        model, best = self._model(pending)
        if grid_points.is_listed(self._space):
            points, rows = self._untaken(taken)
            return points[_highest(self._scores(model, best, rows), rng)] if points else None
        return self._of_candidates(model, best, taken, rng)

    def _encoded(self, points: Sequence[Parametrization]) -> Vector:
        """Return the points of this space as rows for the model."""
        return encode(self._space, points)

    def _scores(self, model: Model, best: float, rows: Vector) -> Vector:
        return log_expected_improvement(*model.predict(rows), best)

    def _untaken(self, taken: Collection[Key]) -> tuple[Sequence[Parametrization], Vector]:
        """Return the listed points that are not in `taken`, and their rows; the rows of all points are cached."""
        if self._listed is None:
            points = self._space.points
            index = {self._space.key(point): number for number, point in enumerate(points)}
            self._listed = self._encoded(points), index
        rows, index = self._listed
        free = np.ones(len(rows), dtype=bool)
        free[[index[key] for key in taken if key in index]] = False
        return [self._space.points[number] for number in np.flatnonzero(free)], rows[free]

    def _of_candidates(
        self, model: Model, best: float, taken: Collection[Key], rng: np.random.Generator
    ) -> Parametrization | None:
        """Climb from the best candidate to better neighbors, and return the point where the climb ends.

        The candidates are random points and the neighbors of the best observed points.
        """
        known = [seen for seen in self._told.observations.values() if seen.mean is not None]
        leaders = sorted(known, key=lambda seen: seen.mean or 0.0)[:LEADERS]
        candidates = [grid_points.draw(self._space, rng) for _ in range(CANDIDATES)]
        for seen in leaders:
            candidates += grid_points.beside(self._space, seen.point)
        found, score = None, -np.inf
        for _ in range(CLIMB):
            candidates = [point for point in candidates if self._space.key(point) not in taken]
            if not candidates:
                break
            scores = self._scores(model, best, self._encoded(candidates))
            chosen = _highest(scores, rng)
            if found is not None and scores[chosen] <= score:
                break
            found, score = candidates[chosen], scores[chosen]
            candidates = grid_points.beside(self._space, found)
        return found or grid_points.free(self._space, taken, rng)

    def _model(self, pending: Sequence[Parametrization]) -> tuple[Model, float]:
        """Return the model of all observations, and the lowest mean that it predicts for a measured point.

        A failed point counts with the worst value seen. A censored point, whose evaluation was stopped early, counts
        with the value above its bound that a model of the other points expects. A pending point counts with the value
        that the setting `lie` selects.
        """
        seen = list(self._told.observations.values())
        known = self._told.pessimistic()
        values = [lie if s.bound is None else s.bound for s, lie in zip(seen, known, strict=True)]
        values += [LIES[self._settings.lie](known)] * len(pending)
        z = warp(np.array(values), self._settings.values)
        rest = [False] * len(pending)
        measured = np.array([*(bool(s.values) for s in seen), *rest])
        censored = np.array([*(s.bound is not None for s in seen), *rest])
        counts = np.array([*(max(1, len(s.values)) for s in seen), *(1 for _ in rest)], dtype=float)
        rows = self._encoded([*(s.point for s in seen), *pending])
        if censored.any() and measured.any():
            others = self._fit(rows[~censored], z[~censored], counts[~censored])
            z[censored] = truncated_mean(*others.predict(rows[censored]), z[censored])
        model = self._fit(rows, z, counts)
        return model, float(model.predict(rows[measured] if measured.any() else rows)[0].min())

    def _fit(self, rows: Vector, z: Vector, counts: Vector) -> surrogate.Surrogate:
        return surrogate.fit(rows, z, counts, axes(self._space), categories(self._space), self._settings.kernel)


def _highest(scores: Vector, rng: np.random.Generator) -> int:
    """Return the index of the highest score, or of a random one of several highest scores."""
    return int(rng.choice(np.flatnonzero(scores >= scores.max() - SAME)))
