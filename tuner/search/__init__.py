# SPDX-License-Identifier: Apache-2.0
"""Search methods behind one ask/tell interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tuner.search import plain
from tuner.search.base import Search
from tuner.search.gp import GaussianProcessSearch
from tuner.space import Space

METHODS: Mapping[str, Callable[[Space, int, int], Search]] = {
    "gp-ei": GaussianProcessSearch,
    "random": lambda space, seed, _: plain.random(space, seed),
    "exhaustive": lambda space, *_: plain.exhaustive(space),
}


def build(method: str, space: Space, seed: int, initial: int) -> Search:
    """A new search with one of `METHODS`; `initial` is the size of a model's initial design."""
    return METHODS[method](space, seed, initial)
