# SPDX-License-Identifier: Apache-2.0
"""Points of a search space and their neighbors. Small spaces are listed completely; points of large ones are random."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from reprise.tuner.model.space import Parameter, Parametrization, Space, Value
from reprise.tuner.search.search_method import Key

LISTED = 200_000  # maximum number of grid points to list; a list takes some 100 MB, and a model's predictions seconds
WALKS = 20  # number of attempts to find a free point by random walks
MISSES = 1_000  # after this many consecutive draws without a new point, the remaining points follow in grid order


def size(space: Space) -> int:
    """Return the number of points of the grid, including equivalent points."""
    return math.prod(len(parameter.values) for parameter in space.parameters)


def is_listed(space: Space) -> bool:
    """Return whether the space is small enough to list."""
    return size(space) <= LISTED


def in_order(space: Space) -> Iterator[Parametrization]:
    """Yield every canonical point in grid order; in a space too large to list, some may repeat."""
    if is_listed(space):
        yield from space.points
        return
    for point in space.grid():
        yield space.canonical(point)


def shuffled(space: Space, rng: np.random.Generator) -> Iterator[Parametrization]:
    """Yield every canonical point in random order.

    In a space too large to list, the last points come in grid order, and points may repeat.
    """
    if is_listed(space):
        for index in rng.permutation(len(space.points)):
            yield space.points[index]
        return
    seen: set[Key] = set()
    misses = 0
    while misses < MISSES:
        point = draw(space, rng)
        misses = misses + 1 if space.key(point) in seen else 0
        if not misses:
            seen.add(space.key(point))
            yield point
    yield from in_order(space)


def draw(space: Space, rng: np.random.Generator) -> Parametrization:
    """Return a random canonical point, drawn uniformly on every axis."""
    return space.canonical({p.name: p.values[int(rng.integers(len(p.values)))] for p in space.parameters})


def holds(space: Space, point: Parametrization) -> bool:
    """Return whether a point is equivalent to a grid point.

    Its canonical form may have values that are not on the grid, for parameters that the point ignores.
    """
    try:
        return space.key(snap(space, point)) == space.key(point)
    except (KeyError, TypeError, ValueError):  # a parameter is missing, or a number is not one
        return False


def free(space: Space, taken: Collection[Key], rng: np.random.Generator) -> Parametrization | None:
    """Return a random point whose key is not in `taken`, or None if all points are taken."""
    return next((point for point in shuffled(space, rng) if space.key(point) not in taken), None)


def indexes(space: Space, point: Parametrization) -> dict[str, int]:
    """Return the index of the nearest grid value for each parameter; 0 for a category that is not on the grid."""
    return {parameter.name: _nearest(parameter, point[parameter.name]) for parameter in space.parameters}


def snap(space: Space, point: Parametrization) -> Parametrization:
    """Return the canonical form of the nearest grid point."""
    return _at(space, indexes(space, point))


def beside(space: Space, point: Parametrization) -> list[Parametrization]:
    """Return the canonical neighbors of a point, one step away on one axis.

    The point is first moved to the grid. Any two categories are one step apart.
    """
    places = indexes(space, point)
    return [
        _at(space, {**places, parameter.name: index})
        for parameter in space.parameters
        for index in _steps(parameter, places[parameter.name])
    ]


def walk(space: Space, point: Parametrization, rng: np.random.Generator) -> Parametrization:
    """Return a random neighbor of a point (Robert 2021, section 3.3.4).

    Each axis moves a step up, a step down or not at all, with equal probability, and at least one axis moves. At an end
    of an axis, the only possible step has the probability of both steps. A category may change to any other.
    """
    places = indexes(space, point)
    steps = {p.name: _steps(p, places[p.name]) for p in space.parameters if len(p.values) > 1}
    moved: list[str] = []
    while steps and not moved:
        moved = [name for name in steps if rng.random() < 2 / 3]
    return _at(space, {**places, **{name: int(rng.choice(steps[name])) for name in moved}})


def wander(
    space: Space, point: Parametrization, taken: Collection[Key], rng: np.random.Generator
) -> Parametrization | None:
    """Return a random point close to a point, with a key that is not in `taken`; None if all points are taken.

    The first attempts are neighbors of the point. Later attempts walk further and further away. If the points of all
    WALKS attempts are taken, any free point is returned.
    """
    place = point
    for number in range(WALKS):
        place = walk(space, point if number < WALKS // 2 else place, rng)
        if space.key(place) not in taken:
            return place
    return free(space, taken, rng)


def _nearest(parameter: Parameter, value: Value) -> int:
    """Return the index of the nearest grid value."""
    if value in parameter.values:
        return list(parameter.values).index(value)
    if parameter.kind == "category":
        return 0
    return min(range(len(parameter.values)), key=lambda index: abs(float(parameter.values[index]) - float(value)))


def _steps(parameter: Parameter, index: int) -> list[int]:
    """Return the indexes of an axis that are one step from `index`; any two categories are one step apart."""
    if parameter.kind == "category":
        return [other for other in range(len(parameter.values)) if other != index]
    return [other for other in (index - 1, index + 1) if 0 <= other < len(parameter.values)]


def _at(space: Space, places: Mapping[str, int]) -> Parametrization:
    return space.canonical({p.name: p.values[places[p.name]] for p in space.parameters})
