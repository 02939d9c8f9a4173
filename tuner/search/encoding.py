# SPDX-License-Identifier: Apache-2.0
"""Encoding of points for a model, as numbers of comparable size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reprise.tuner.model.space import Parameter, Parametrization, Space, Value

Matrix = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int_]

BEYOND = 1.0  # maximum distance from the grid at which values outside it are placed; the grid has width 1


def encode(space: Space, points: Sequence[Parametrization]) -> Matrix:
    """Return one row per point, shape (points, columns); `axes` maps columns to axes.

    A numeric axis has one column, from 0 for its lowest grid value to 1 for its highest. In this column, all steps of
    the grid have the same size, whether they are additive or multiplicative (Robert 2021, section 3.3.3, leaves the
    scale open). A category has one column per value, with 1/sqrt(2) in the column of the point's value and 0 elsewhere,
    so that two different categories are 1 apart. An axis with a single value carries no information and has no column.
    """
    columns = [column for p in _varied(space) for column in _columns(p, [x[p.name] for x in points])]
    return np.array(columns, dtype=np.float64).T.reshape(len(points), len(columns))


def axes(space: Space) -> Integers:
    """Return, for each column of `encode`, the index of its axis among the axes with several values."""
    widths = [len(p.values) if p.kind == "category" else 1 for p in _varied(space)]
    return np.repeat(np.arange(len(widths)), widths)


def categories(space: Space) -> npt.NDArray[np.bool_]:
    """Return, for each axis with several values, whether it is a category."""
    return np.array([p.kind == "category" for p in _varied(space)], dtype=bool)


def place(parameter: Parameter, values: Sequence[Value]) -> Matrix:
    """Return the positions of values on a numeric axis: for a grid value, its index divided by the last index.

    The position of any other value lies between those of two grid values, or outside the grid by at most BEYOND.
    """
    scaled = [(lambda v: math.log2(1 + float(v))) if parameter.kind == "log" else float][0]
    grid = np.array(sorted(scaled(value) for value in parameter.values))
    wanted = np.array([scaled(value) for value in values])
    last = len(grid) - 1
    inside = np.interp(wanted, grid, np.arange(last + 1.0))
    below = np.minimum(wanted - grid[0], 0.0) / (grid[1] - grid[0])
    above = np.maximum(wanted - grid[-1], 0.0) / (grid[-1] - grid[-2])
    places: Matrix = np.clip((inside + below + above) / last, -BEYOND, 1 + BEYOND)
    return places


def _varied(space: Space) -> list[Parameter]:
    return [parameter for parameter in space.parameters if len(parameter.values) > 1]


def _columns(parameter: Parameter, values: Sequence[Value]) -> list[Matrix]:
    if parameter.kind == "category":
        return [np.array([value == known for value in values]) * math.sqrt(0.5) for known in parameter.values]
    return [place(parameter, values)]
