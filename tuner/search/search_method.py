# SPDX-License-Identifier: Apache-2.0
"""What every search method is: something to ask for the next point and to tell what came of it."""

from __future__ import annotations

import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reprise.tuner.model.space import Parametrization, Space, Value

Key = tuple[Value, ...]  # Space.key


class Search(Protocol):
    """A search for the lowest value on a finite grid.

    What `ask` answers depends on the space, the seed, what was told, in order, and `pending`, and on nothing else: a
    search is rebuilt after an interruption by telling a new one the same things. Asked twice without a `tell` between,
    it answers the same. Points that behave alike (Space.canonical) are one point everywhere.
    """

    def ask(self, pending: Collection[Parametrization] = ()) -> Parametrization | None:
        """The next point to try, canonical: none that was told, or that is `pending` (being tried); None: none left."""

    def tell(self, parametrization: Parametrization, value: float | None, *, censored: bool = False) -> None:
        """One evaluation of a point, asked or not: its value (lower is better), or None where it failed.

        A point may be told several times: these are replicates. `censored`: it was stopped at `value`, its true value
        is no lower. Raises ValueError for a value that is no finite number.
        """


@dataclass
class Observation:
    """All evaluations of one canonical point: measured values, lower bounds of those stopped early, failures."""

    point: Parametrization
    values: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    failures: int = 0

    @property
    def mean(self) -> float | None:
        """The mean of the measured values; None without any."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def bound(self) -> float | None:
        """The highest known lower bound of a point that was never measured to its end; None for others."""
        return max(self.bounds) if self.bounds and not self.values else None


class Told:
    """What a search was told, by canonical point, in the order of their first evaluations."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.observations: dict[Key, Observation] = {}
        self.evaluations = 0

    def tell(self, parametrization: Parametrization, value: float | None, censored: bool) -> Observation:
        """Remember. Raises ValueError for a value that is no finite number, or a failure that is censored."""
        if value is None and censored:
            raise ValueError(f"{dict(parametrization)} is censored without a value: tell where it was stopped")
        if value is not None and not math.isfinite(value):
            raise ValueError(
                f"the value {value} of {dict(parametrization)} is no finite number: tell None for a failure"
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
        """One value per observation: its mean, or the worst value known where it failed or was stopped early.

        Raises ValueError where no point has a value or a bound yet.
        """
        means = [observation.mean for observation in self.observations.values()]
        worst = max(v for o in self.observations.values() for v in (o.mean, o.bound) if v is not None)
        return [worst if mean is None else mean for mean in means]

    def __bool__(self) -> bool:
        """Whether any point has a value or a bound."""
        return any(observation.values or observation.bounds for observation in self.observations.values())


class OpenedSearch(ABC):
    """A search that first asks the points of its opening, in order, and then what its method proposes."""

    def __init__(self, space: Space, seed: int, opening: Sequence[Parametrization] = ()) -> None:
        self._space = space
        self._seed = seed
        self._opening = opening
        self._told = Told(space)

    def ask(self, pending: Collection[Parametrization] = ()) -> Parametrization | None:
        waiting = {self._space.key(point): self._space.canonical(point) for point in pending}
        waiting = {key: point for key, point in waiting.items() if key not in self._told.observations}
        taken = waiting.keys() | self._told.observations.keys()
        for point in self._opening:
            if self._space.key(point) not in taken:
                return point
        return self._propose(list(waiting.values()), taken)

    def tell(self, parametrization: Parametrization, value: float | None, *, censored: bool = False) -> None:
        self._told.tell(parametrization, value, censored)

    @abstractmethod
    def _propose(self, pending: Sequence[Parametrization], taken: Collection[Key]) -> Parametrization | None:
        """The next point after the opening; `taken` has the keys of all points told or pending."""
