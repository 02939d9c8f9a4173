# SPDX-License-Identifier: Apache-2.0
"""Search spaces: finite grids of named parameters. Points that differ only in ignored parameters are equal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

Value = int | float | str
Parametrization = Mapping[str, Value]


@dataclass(frozen=True)
class Parameter:
    """One axis of a space.

    `values` are in order and may include 0. `kind`: the values of a "linear" or "log" axis are numbers (for "log", a
    model uses log2(1 + v)). The values of a "category" have no order (a model uses one indicator per value).
    """

    name: str
    values: Sequence[Value]
    kind: str = "linear"


def same(parametrization: Parametrization) -> Parametrization:
    """Return the point unchanged."""
    return parametrization


@dataclass(frozen=True)
class Space:
    """The grid of all parameters. `canonical` maps a point to the point that represents all equivalent ones."""

    parameters: Sequence[Parameter]
    canonical: Callable[[Parametrization], Parametrization] = same

    def grid(self) -> Iterator[Parametrization]:
        """Return every point of the grid, including equivalent ones; the last parameter's values change fastest."""
        names = [parameter.name for parameter in self.parameters]
        for values in itertools.product(*(parameter.values for parameter in self.parameters)):
            yield dict(zip(names, values, strict=True))

    @cached_property
    def points(self) -> tuple[Parametrization, ...]:
        """Distinct canonical points, in grid order."""
        seen: dict[tuple[Value, ...], Parametrization] = {}
        for point in self.grid():
            seen.setdefault(self.key(point), self.canonical(point))
        return tuple(seen.values())

    def key(self, parametrization: Parametrization) -> tuple[Value, ...]:
        """Return the identity of a point: its canonical values, in the order of the parameters."""
        point = self.canonical(parametrization)
        return tuple(point[parameter.name] for parameter in self.parameters)
