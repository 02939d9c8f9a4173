# SPDX-License-Identifier: Apache-2.0
"""Simulated annealing on the grid (Robert 2021, section 3.3.4, with corrected acceptance and cooling)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from reprise.config import Section
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search import grid_points
from reprise.tuner.search.search_method import Key, OpenedSearch


class Settings(Section):
    """Settings of `annealing`. Temperatures are in standard deviations of the initial points' values."""

    temperature: float = Field(1.0, gt=0, description="initial temperature")
    cooling: Literal["exponential", "multiplicative", "logarithmic"] = Field(
        "exponential", description="cooling schedule"
    )
    alpha: float | None = Field(
        None, gt=0, description="parameter of the cooling schedule; default: 0.95 for exponential, 10 for the others"
    )
    restart: Literal["none", "random", "threshold"] = Field(
        "none", description="condition for a restart at the initial temperature"
    )
    restart_probability: float = Field(0.02, ge=0, le=1, description="probability of a random restart after each point")
    restart_threshold: float = Field(0.05, ge=0, description="temperature below which to restart")
    restarts: int = Field(3, ge=0, description="maximum number of restarts")

    @model_validator(mode="after")
    def _cools(self) -> Settings:
        if self.cooling == "exponential" and self.alpha is not None and self.alpha >= 1:
            raise ValueError("alpha of an exponential schedule is the factor per step: choose one below 1")
        return self


def acceptance(old: float, new: float, temperature: float) -> float:
    """Return the probability of moving to a new value: 1 if it is better, otherwise exp(-(new - old) / T).

    Robert 2021 prints the exponent without the minus sign; with that formula, every point would be accepted.
    """
    if new < old:
        return 1.0
    return math.exp(-(new - old) / temperature) if temperature > 0 else float(new == old)


def cooled(settings: Settings, step: int) -> float:
    """Return the temperature after `step` steps: alpha^k T0, T0 / (1 + alpha k) or T0 / (1 + alpha log(1 + k)).

    For the second formula, Robert 2021 prints (1 - T0) / (1 + alpha k), which is negative if T0 exceeds 1.
    """
    alpha = settings.alpha or (0.95 if settings.cooling == "exponential" else 10.0)
    if settings.cooling == "exponential":
        return settings.temperature * alpha**step
    return settings.temperature / (1 + alpha * (step if settings.cooling == "multiplicative" else math.log1p(step)))


class AnnealingSearch(OpenedSearch):
    """A search that proposes random neighbors of its current point.

    The search starts at the best of the initial points. A point that was evaluated although the search did not propose
    it is treated like a proposed point. The search never moves to a point that failed. A point whose evaluation was
    stopped early counts with its lower bound.
    """

    def __init__(
        self, space: Space, seed: int, opening: Sequence[Parametrization] = (), settings: Settings | None = None
    ) -> None:
        super().__init__(space, seed, opening)
        self._settings = settings or Settings()
        self._opened = {space.key(point) for point in opening}
        self._found: list[float] = []  # values of the initial points
        self._stand: Key | None = None
        self._step = self.restarts = 0

    def tell(self, parametrization: Parametrization, value: float | None, *, censored: bool = False) -> None:
        """Record an evaluation, and move to the evaluated point if annealing accepts the move."""
        key = self._space.key(parametrization)
        again = key in self._told.observations
        self._told.tell(parametrization, value, censored)
        if again or value is None:
            return
        if key in self._opened or self._stand is None:
            self._found.append(value)
            if self._stand is None or value < self._value(self._stand):
                self._stand = key
            return
        rng = np.random.default_rng([self._seed, self._told.evaluations, 0, 1])
        spread = float(np.std(self._found)) or abs(float(np.mean(self._found))) or 1.0
        temperature = cooled(self._settings, self._step)
        if acceptance(self._value(self._stand) / spread, value / spread, temperature) > rng.random():
            self._stand = key
        self._step += 1
        if self.restarts < self._settings.restarts and self._restart(temperature, rng):
            self._step, self.restarts = 0, self.restarts + 1

    def _value(self, key: Key) -> float:
        """Return the mean of a point's values, or its lower bound if it has none; infinity if it has only failures."""
        seen = self._told.observations[key]
        known = seen.bound if seen.mean is None else seen.mean
        return math.inf if known is None else known

    def _restart(self, temperature: float, rng: np.random.Generator) -> bool:
        if self._settings.restart == "random":
            return rng.random() < self._settings.restart_probability
        return self._settings.restart == "threshold" and temperature < self._settings.restart_threshold

    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        rng = np.random.default_rng([self._seed, self._told.evaluations, len(pending)])
        if self._stand is None:
            return grid_points.free(self._space, taken, rng)
        return grid_points.wander(self._space, self._told.observations[self._stand].point, taken, rng)
