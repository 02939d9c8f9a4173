# SPDX-License-Identifier: Apache-2.0
"""What every search method is: something to ask for the next point and to tell what came of it."""

from __future__ import annotations

import math
from typing import Protocol

from tuner.space import Parametrization, Space, Value


class Search(Protocol):
    """A search for the lowest value on a finite grid.

    What `ask` answers depends on the space, the seed and what was told, in order, and on nothing else: a search is
    rebuilt after an interruption by telling a new one the same things. Asked twice without a `tell` between, it answers
    the same. No point that was told is asked again.
    """

    def ask(self) -> Parametrization | None:
        """The next point to try; None when every point of the grid is told."""

    def tell(self, parametrization: Parametrization, value: float | None) -> None:
        """What came of a point, asked or not: its value (lower is better), or None for a point that failed."""


class Told:
    """What a search was told, by canonical point, in order. The memory that all methods share."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.values: dict[tuple[Value, ...], float | None] = {}
        self.points: dict[tuple[Value, ...], Parametrization] = {}

    def tell(self, parametrization: Parametrization, value: float | None) -> None:
        """Remember. Raises ValueError for a value that is no finite number, or a point that was told before."""
        key = self.space.key(parametrization)
        if key in self.values:
            raise ValueError(
                f"the point {dict(parametrization)} was told twice: average its values before telling them"
            )
        if value is not None and not math.isfinite(value):
            raise ValueError(
                f"the value {value} of {dict(parametrization)} is no finite number: tell None for a failure"
            )
        self.values[key] = value
        self.points[key] = self.space.canonical(parametrization)

    def __contains__(self, parametrization: Parametrization) -> bool:
        return self.space.key(parametrization) in self.values

    def __len__(self) -> int:
        return len(self.values)
