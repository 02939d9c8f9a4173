# SPDX-License-Identifier: Apache-2.0
"""Initial points of a search (Robert 2021, section 3.2): distinct canonical points, at most as many as the space has.

Equivalent points, which differ only in parameters without effect, count once; random points replace the duplicates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search import grid_points
from reprise.tuner.search.encoding import axes, encode
from reprise.tuner.search.search_method import Key

Design = Callable[[Space, int, np.random.Generator], Sequence[Parametrization]]

REDRAWS = 20  # maximum number of Latin hypercubes that are drawn to find distinct points
CUBES = 100  # number of Latin hypercubes from which `maximin` chooses the best


def uniform(space: Space, size: int, rng: np.random.Generator) -> Sequence[Parametrization]:
    """Return `size` random points."""
    return _distinct(space, size, grid_points.shuffled(space, rng))


def lhs(space: Space, size: int, rng: np.random.Generator) -> Sequence[Parametrization]:
    """Return a Latin hypercube of `size` points. On axes with fewer values than points, values repeat."""
    cubes = (_hypercube(space, size, rng) for _ in range(REDRAWS))
    return _distinct(space, size, itertools.chain(*cubes, grid_points.shuffled(space, rng)))


def maximin(space: Space, size: int, rng: np.random.Generator) -> Sequence[Parametrization]:
    """Return, out of `CUBES` Latin hypercubes, the one with the largest distance between its two closest points."""
    cubes = [_distinct(space, size, _hypercube(space, size, rng)) for _ in range(CUBES)]
    best = max(cubes, key=lambda points: (len(points), _nearest(space, points)))
    return _distinct(space, size, itertools.chain(best, grid_points.shuffled(space, rng)))


def hybrid(space: Space, size: int, rng: np.random.Generator) -> Sequence[Parametrization]:
    """Return a Latin hypercube with as many points as the shortest axis has values, then random points.

    No two points of the hypercube share a value on any axis, so that the points still differ if an axis turns out to
    have no effect. Axes with a single value do not count.
    """
    shortest = min([size, *(len(p.values) for p in space.parameters if len(p.values) > 1)])
    return _distinct(space, size, itertools.chain(_hypercube(space, shortest, rng), grid_points.shuffled(space, rng)))


DESIGNS: Mapping[str, Design] = {"uniform": uniform, "lhs": lhs, "maximin": maximin, "hybrid": hybrid}


def _distinct(space: Space, size: int, points: Iterable[Parametrization]) -> Sequence[Parametrization]:
    chosen: dict[Key, Parametrization] = {}
    for point in points:
        if len(chosen) >= size:
            break
        chosen.setdefault(space.key(point), point)
    return tuple(chosen.values())


def _hypercube(space: Space, size: int, rng: np.random.Generator) -> Iterator[Parametrization]:
    """Return `size` points, with the levels of each axis in random order.

    On an axis of m values, level k of n (counted from 0) is the value with index floor((k + 1/2) m / n). The values of
    a category have no order, so they are shuffled first.
    """
    columns = []
    for parameter in space.parameters:
        values = list(parameter.values)
        if parameter.kind == "category":
            values = [values[index] for index in rng.permutation(len(values))]
        columns.append([values[int((level + 0.5) * len(values) / size)] for level in rng.permutation(size)])
    names = [parameter.name for parameter in space.parameters]
    for row in zip(*columns, strict=True):
        yield space.canonical(dict(zip(names, row, strict=True)))


def _nearest(space: Space, points: Sequence[Parametrization]) -> float:
    """Return the square of the smallest distance between two points."""
    rows = encode(space, points)
    if len(rows) < 2 or not len(axes(space)):
        return 0.0
    squares = ((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
    return float(squares[np.triu_indices(len(rows), 1)].min())
