# SPDX-License-Identifier: Apache-2.0
"""Points as a model sees them: numbers of comparable size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tuner.space import Parameter, Parametrization, Space, Value

Matrix = npt.NDArray[np.float64]


def encode(space: Space, points: Sequence[Parametrization]) -> Matrix:
    """One row per point, shape (points, columns).

    A linear axis is one column, a log axis one of log2(1 + v), both scaled so that the grid's values have mean 0 and
    standard deviation 1. A category is one column per value: 1/sqrt(2) where it is the point's value, so that two
    different categories are 1 apart. An axis with a single value tells nothing and has no column.
    """
    columns = [
        column for p in space.parameters if len(p.values) > 1 for column in _columns(p, [x[p.name] for x in points])
    ]
    return np.array(columns, dtype=np.float64).T.reshape(len(points), len(columns))


def _columns(parameter: Parameter, values: Sequence[Value]) -> list[Matrix]:
    if parameter.kind == "category":
        return [np.array([value == known for value in values]) * math.sqrt(0.5) for known in parameter.values]
    scale = (lambda v: math.log2(1 + float(v))) if parameter.kind == "log" else float
    grid = np.array([scale(value) for value in parameter.values])
    return [(np.array([scale(value) for value in values]) - grid.mean()) / grid.std()]
