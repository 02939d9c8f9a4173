# SPDX-License-Identifier: Apache-2.0
"""The points of a space, listed where there are few enough to, drawn where there are not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from tuner.search.base import Key
from tuner.space import Parametrization, Space

LISTED = 200_000  # points of the whole product up to which a space is listed: some 100 MB, and seconds for a model
MISSES = 1_000  # draws in a row without a new point after which the rest is taken in grid order


def size(space: Space) -> int:
    """Points of the product of all axes; dead dimensions make the distinct ones fewer."""
    return math.prod(len(parameter.values) for parameter in space.parameters)


def is_listed(space: Space) -> bool:
    return size(space) <= LISTED


def in_order(space: Space) -> Iterator[Parametrization]:
    """Every canonical point in grid order; beyond `LISTED` points that behave alike may come several times."""
    if is_listed(space):
        yield from space.points
        return
    names = [parameter.name for parameter in space.parameters]
    for values in itertools.product(*(parameter.values for parameter in space.parameters)):
        yield space.canonical(dict(zip(names, values, strict=True)))


def shuffled(space: Space, rng: np.random.Generator) -> Iterator[Parametrization]:
    """Every canonical point in random order, the first uniformly; beyond `LISTED` some may come several times."""
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
    """A random point: uniform on every axis, then canonical."""
    return space.canonical({p.name: p.values[int(rng.integers(len(p.values)))] for p in space.parameters})


def holds(space: Space, point: Parametrization) -> bool:
    """Whether a point, made canonical, is one of the grid's."""
    try:
        canonical = space.canonical(point)
        return all(canonical[parameter.name] in parameter.values for parameter in space.parameters)
    except KeyError:
        return False
