# SPDX-License-Identifier: Apache-2.0
"""The product's methods as players of the games: every search method, and `gp-ei` with every resampling policy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from bench.tuner.games import INITIAL, Driver, Maker
from reprise.tuner import noise, search
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.noise import Evaluation

MODEL = "gp-ei"  # the search method that is combined with each resampling policy


class Ours:
    """A search combined with a resampling policy, which may choose points to evaluate again."""

    def __init__(self, method: str, policy: str, space: Space, seed: int, budget: int) -> None:
        self._space = space
        self._search = search.build(method, space, seed, INITIAL)
        self._resampling = noise.build(policy, space, budget, seed)
        self._history: list[Evaluation] = []

    def ask(self) -> Parametrization | None:
        """Return the next point to evaluate, or None if there are no more points."""
        return self._resampling.again(self._history) or self._search.ask()

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the measured value of a point."""
        self._search.tell(point, value)
        self._history.append(Evaluation(point, value, initial=len(self._history) < INITIAL))

    def best(self) -> Parametrization:
        """Return the point that the method recommends."""
        return self._resampling.winner(self._history) or self._space.points[0]  # games report values first


def _make(method: str, policy: str, space: Space, seed: int, budget: int, noisy: bool) -> Driver:
    return Ours(method, policy if noisy else "none", space, seed, budget)


SEARCHES: Mapping[str, Maker] = {
    method: partial(_make, method, "none") for method in search.METHODS if method not in ("exhaustive", "gp-shared")
}
POLICIES: Mapping[str, Maker] = {policy: partial(_make, MODEL, policy) for policy in noise.POLICIES}
