# SPDX-License-Identifier: Apache-2.0
"""Search methods behind one ask/tell interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tuner.search import grid, plain
from tuner.search.base import Search
from tuner.search.design import DESIGNS
from tuner.search.gp import GaussianProcessSearch
from tuner.space import Parametrization, Space

METHODS: Mapping[str, Callable[[Space, int, Sequence[Parametrization]], Search]] = {
    "gp-ei": GaussianProcessSearch,
    "random": plain.random,
    "exhaustive": plain.exhaustive,
}
WITHOUT_DESIGN = ("random", "exhaustive")


def build(
    method: str,
    space: Space,
    seed: int,
    initial: int,
    design: str = "hybrid",
    first: Sequence[Parametrization] = (),
) -> Search:
    """A new search with one of `METHODS`.

    It opens with the points of `first` (those of the grid), and with points of one of `DESIGNS` up to `initial` in
    all, where the method learns from points.
    """
    opening = [space.canonical(point) for point in first if grid.holds(space, point)]
    wanted = 0 if method in WITHOUT_DESIGN else initial - len({space.key(point) for point in opening})
    if wanted > 0:
        opening += DESIGNS[design](space, wanted, np.random.default_rng(seed))
    return METHODS[method](space, seed, opening)
