# SPDX-License-Identifier: Apache-2.0
"""Policies that repeat a point by a rule of its own samples: never, or a fixed number of times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.noise.base import Evaluation, Tally, tallies, waiting, winner
from tuner.noise.settings import NoSettings, within
from tuner.space import Parametrization, Space


class OnAverage:
    """What the policies share that judge points by their means."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        return winner(history, self._space)


class Never(OnAverage):
    """Every point once: for objectives that do not vary."""

    def __init__(self, space: Space, budget: int, seed: int, settings: NoSettings) -> None:
        super().__init__(space)

    def again(self, history: Sequence[Evaluation], pending: Sequence[Parametrization] = ()) -> Parametrization | None:
        return None


@dataclass(frozen=True)
class StaticSettings:
    """`evaluations`: of each point in total."""

    evaluations: int = 3

    def __post_init__(self) -> None:
        within("evaluations", self.evaluations, 1)


class PerPoint(OnAverage):
    """Repeats the points that the search chose, not those of the initial design (Robert 2021, section 5.3), each until
    it is `enough`, the oldest first. One that failed or was stopped is not repeated."""

    def again(self, history: Sequence[Evaluation], pending: Sequence[Parametrization] = ()) -> Parametrization | None:
        running = waiting(pending, self._space)
        for key, tally in tallies(history, self._space).items():
            if not tally.initial and tally.sound and not self.enough(tally, running.get(key, 0)):
                return tally.point
        return None

    def enough(self, tally: Tally, running: int) -> bool:
        """Whether a point needs no further run, with `running` ones under way."""
        raise NotImplementedError


class Static(PerPoint):
    """A fixed number of evaluations of each point (Robert 2021, section 5.2.1). Its algorithm prints `count <= n`; the
    published numbers of distinct points fit n in total, `count < n`."""

    def __init__(self, space: Space, budget: int, seed: int, settings: StaticSettings) -> None:
        super().__init__(space)
        self._evaluations = settings.evaluations

    def enough(self, tally: Tally, running: int) -> bool:
        return tally.runs + running >= self._evaluations
