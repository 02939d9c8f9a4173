# SPDX-License-Identifier: Apache-2.0
"""Search on the grid by tree-structured Parzen estimators (Bergstra et al. 2011), with optuna's sampler."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from reprise.config import Section
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search import grid_points
from reprise.tuner.search.search_method import Key, OpenedSearch

TRIES = 16  # after this many suggestions that are observed or pending, propose a neighbor of the last suggestion


class Settings(Section):
    """Settings of `tpe`."""

    multivariate: bool = Field(True, description="model the parameters together")
    candidates: int = Field(24, ge=1, description="number of candidates drawn for each suggestion")


class ParzenSearch(OpenedSearch):
    """A search that proposes the points that optuna's sampler suggests.

    Each call of `ask` creates a new study of all observations, so that the proposal depends on nothing else. A number
    is represented by the index of its grid value. Failed, censored and pending points count with the worst value seen.
    """

    def __init__(
        self, space: Space, seed: int, opening: Sequence[Parametrization] = (), settings: Settings | None = None
    ) -> None:
        super().__init__(space, seed, opening)
        self._settings = settings or Settings()

    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        rng = np.random.default_rng([self._seed, self._told.evaluations, len(pending)])
        if not self._told:
            return grid_points.free(self._space, taken, rng)
        study, axes = self._study(pending, int(rng.integers(2**31)))
        point = None
        for _ in range(TRIES):
            suggested = study.ask(axes).params
            values = {p.name: p.values[suggested.get(p.name, 0)] for p in self._space.parameters}
            point = self._space.canonical(values)
            if self._space.key(point) not in taken:
                return point
        return grid_points.wander(self._space, point, taken, rng) if point else None

    def _study(self, pending: Sequence[Parametrization], seed: int) -> tuple[Any, Any]:
        """Return a study of all points, and the distributions (over indexes) of the axes that have several values."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        axes: dict[str, Any] = {
            p.name: optuna.distributions.CategoricalDistribution(range(len(p.values)))
            if p.kind == "category"
            else optuna.distributions.IntDistribution(0, len(p.values) - 1)
            for p in self._space.parameters
            if len(p.values) > 1
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                seed=seed,
                n_startup_trials=1,
                n_ei_candidates=self._settings.candidates,
                multivariate=self._settings.multivariate,
            )
        study = optuna.create_study(sampler=sampler)
        known = self._told.pessimistic()
        points = [*(observation.point for observation in self._told.observations.values()), *pending]
        for point, value in zip(points, [*known, *[max(known)] * len(pending)], strict=True):
            indexes = grid_points.indexes(self._space, point)
            params = {name: indexes[name] for name in axes}
            study.add_trial(optuna.trial.create_trial(params=params, distributions=axes, value=value))
        return study, axes
