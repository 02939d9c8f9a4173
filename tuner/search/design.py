# SPDX-License-Identifier: Apache-2.0
"""The points that a model-based search starts from: a Latin hypercube on the grid, then uniform random points.

On a Latin hypercube no two points share a value on any axis, so that the points still differ when an axis turns out to
do nothing (Robert 2021, section 3.2). A grid allows that for as many points as its shortest axis has values; the rest
is drawn at random. Axes with a single value do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tuner.space import Parametrization, Space


def hybrid(space: Space, size: int, rng: np.random.Generator) -> tuple[Parametrization, ...]:
    """`size` distinct canonical points, or all of the space's where it has fewer.

    Points of the hypercube that behave alike (dead dimensions) count once; random points make up for them.
    """
    chosen = {space.key(point): point for point in _latin_hypercube(space, size, rng)}
    rest = [point for point in space.points if space.key(point) not in chosen]
    missing = min(size - len(chosen), len(rest))
    for index in rng.permutation(len(rest))[:missing]:
        chosen[space.key(rest[index])] = rest[index]
    return tuple(chosen.values())


def _latin_hypercube(space: Space, size: int, rng: np.random.Generator) -> list[Parametrization]:
    """At most `size` points, no two with the same value on an axis (before dead dimensions are neutralised).

    Level k of n on an axis of m >= n values stands for the value with index floor((k + 1/2) m / n), k from 0.
    """
    lengths = [len(parameter.values) for parameter in space.parameters]
    count = min([size, *(length for length in lengths if length > 1)])
    columns = [
        [int((level + 0.5) * length / count) if length > 1 else 0 for level in rng.permutation(count)]
        for length in lengths
    ]
    return [
        space.canonical({p.name: p.values[column[row]] for p, column in zip(space.parameters, columns, strict=True)})
        for row in range(count)
    ]


DESIGNS: Mapping[str, Callable[[Space, int, np.random.Generator], Sequence[Parametrization]]] = {"hybrid": hybrid}
