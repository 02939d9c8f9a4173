# SPDX-License-Identifier: Apache-2.0
"""Interface of every search method: `ask` returns the next point to try, and `tell` records a result."""

from __future__ import annotations

import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reprise.tuner.model.space import Parametrization, Space, Value

Key = tuple[Value, ...]  # identifies a canonical point; made by Space.key


class Search(Protocol):
    """A search for the lowest value on a finite grid.

    The point that `ask` returns depends only on the space, the seed, the observations in order, and `pending`. An
    interrupted search is therefore rebuilt by passing its observations to a new search. Two calls of `ask` without a
    `tell` in between return equal points. Equivalent points (`Space.canonical`) count as one point everywhere.
    """

    def ask(self, pending: Collection[Parametrization] = ()) -> Parametrization | None:
        """Return the next point to try, in canonical form, or None if no point is left.

        The returned point is neither observed nor in `pending` (points that are being tried).
        """

    def tell(self, parametrization: Parametrization, value: float | None, *, censored: bool = False) -> None:
        """Record one evaluation of a point: its value (lower is better), or None if it failed.

        The point need not have been proposed. Several evaluations of one point are replicates. `censored`: the
        evaluation was stopped at `value`, and its true value is no lower. Raise ValueError if the value is not a finite
        number.
        """


@dataclass
class Observation:
    """All evaluations of one canonical point: measured values, lower bounds from early stops, failures."""

    point: Parametrization
    values: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    failures: int = 0

    @property
    def mean(self) -> float | None:
        """Mean of the measured values, or None if there are none."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def bound(self) -> float | None:
        """Highest lower bound of a point that has no measured value; None for other points."""
        return max(self.bounds) if self.bounds and not self.values else None


class Told:
    """The observations of a search, keyed by canonical point, in the order in which the points were first evaluated."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.observations: dict[Key, Observation] = {}
        self.evaluations = 0

    def tell(self, parametrization: Parametrization, value: float | None, censored: bool) -> Observation:
        """Record an evaluation. Raise ValueError if the value is not a finite number, or if a failure is censored."""
        if value is None and censored:
            raise ValueError(
                f"{dict(parametrization)} is censored without a value: pass the value at which it was stopped"
            )
        if value is not None and not math.isfinite(value):
            raise ValueError(
                f"the value {value} of {dict(parametrization)} is not a finite number: pass None for a failure"
            )
        point = self._space.canonical(parametrization)
        observation = self.observations.setdefault(self._space.key(point), Observation(point))
        if value is None:
            observation.failures += 1
        else:
            (observation.bounds if censored else observation.values).append(value)
        self.evaluations += 1
        return observation

    def pessimistic(self) -> list[float]:
        """Return each observation's mean, or the worst known value for points that have no measured value.

        Raise ValueError if no point has a value or a bound yet.
        """
        means = [observation.mean for observation in self.observations.values()]
        worst = max(v for o in self.observations.values() for v in (o.mean, o.bound) if v is not None)
        return [worst if mean is None else mean for mean in means]

    def __bool__(self) -> bool:
        """Return whether any point has a value or a bound."""
        return any(observation.values or observation.bounds for observation in self.observations.values())


class OpenedSearch(ABC):
    """A search that first proposes given points (the opening), in order, and then those that `_propose` selects."""

    def __init__(self, space: Space, seed: int, opening: Sequence[Parametrization] = ()) -> None:
        self._space = space
        self._seed = seed
        self._opening = opening
        self._told = Told(space)

    def ask(self, pending: Collection[Parametrization] = ()) -> Parametrization | None:
        """Return the next point of the opening or, after it, the method's proposal."""
        waiting = {self._space.key(point): self._space.canonical(point) for point in pending}
        waiting = {key: point for key, point in waiting.items() if key not in self._told.observations}
        taken = waiting.keys() | self._told.observations.keys()
        for point in self._opening:
            if self._space.key(point) not in taken:
                return point
        return self._propose(list(waiting.values()), taken)

    def tell(self, parametrization: Parametrization, value: float | None, *, censored: bool = False) -> None:
        """Record one evaluation of a point."""
        self._told.tell(parametrization, value, censored)

    @abstractmethod
    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        """Return the next point after the opening; `taken` has the keys of all points observed or pending."""
