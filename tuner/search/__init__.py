# SPDX-License-Identifier: Apache-2.0
"""Search methods by name, with their settings and factories; all have the interface of `search_method.Search`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprise.config import Section
from reprise.tuner.model import method_settings as of_methods
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search import (
    annealing,
    gaussian_process,
    genetic,
    grid_points,
    plain_search,
    screening,
    shared_process,
    stepwise,
    tpe,
)
from reprise.tuner.search.initial_design import DESIGNS
from reprise.tuner.search.search_method import Search


@dataclass(frozen=True)
class Method:
    """A search method: its factory, its class of settings, and two properties.

    `new` takes the space, the seed, the points to try first, and the settings. `learns`: the method learns from
    results, so a search begins with an initial design. `shares`: the search also learns from the other problems of a
    family.
    """

    new: Callable[[Space, int, Sequence[Parametrization], Any], Search]
    settings: type[Section] = Section
    learns: bool = True
    shares: bool = False


METHODS: Mapping[str, Method] = {
    "gp-ei": Method(gaussian_process.GaussianProcessSearch, gaussian_process.Settings),
    "gp-shared": Method(shared_process.SharedSearch, gaussian_process.Settings, shares=True),
    "tpe": Method(tpe.ParzenSearch, tpe.Settings),
    "genetic": Method(genetic.GeneticSearch, genetic.Settings),
    "annealing": Method(annealing.AnnealingSearch, annealing.Settings),
    "screening": Method(lambda space, seed, opening, _: screening.ScreeningSearch(space, seed, opening), learns=False),
    "stepwise": Method(stepwise.StepwiseSearch, stepwise.Settings, learns=False),
    "random": Method(lambda space, seed, opening, _: plain_search.random(space, seed, opening), learns=False),
    "exhaustive": Method(lambda space, seed, opening, _: plain_search.exhaustive(space, seed, opening), learns=False),
}


def settings_of(method: str, mapping: Mapping[str, Any]) -> Section:
    """Read a search method's settings from a campaign file's mapping; `method` is a key of `METHODS`.

    Raise SettingsError with a one-line message if the settings are invalid.
    """
    return of_methods.read({name: known.settings for name, known in METHODS.items()}, "method", method, mapping)


def build(
    method: str,
    space: Space,
    seed: int,
    initial: int,
    design: str = "hybrid",
    first: Sequence[Parametrization] = (),
    settings: Section | None = None,
) -> Search:
    """Return a new search with one of `METHODS`.

    `settings` is a result of `settings_of`, or None for the defaults. The search begins with the points of `first` that
    are on the grid. If the method learns from results, `design` (one of `DESIGNS`) adds points until there are
    `initial` in total.
    """
    known = METHODS[method]
    opening = [space.canonical(point) for point in first if grid_points.holds(space, point)]
    wanted = initial - len({space.key(point) for point in opening}) if known.learns else 0
    if wanted > 0:
        opening += DESIGNS[design](space, wanted, np.random.default_rng(seed))
    return known.new(space, seed, opening, settings)
