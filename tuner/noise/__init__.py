# SPDX-License-Identifier: Apache-2.0
"""Noise policies, which choose the points to measure again and the best measured point (docs/explanation/noise.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reprise.config import Section
from reprise.tuner.model import method_settings as of_policies
from reprise.tuner.model.space import Space
from reprise.tuner.noise import even, repeat, thesis_filter
from reprise.tuner.noise.noise_policy import Evaluation, Resampling, winner
from reprise.tuner.noise.racing_settings import RacingSettings

__all__ = ["DEFAULT", "POLICIES", "Evaluation", "Resampling", "build", "settings_of", "winner"]


@dataclass(frozen=True)
class Policy:
    """A noise policy: its factory and its class of settings. `new` takes the space, budget, seed and settings."""

    new: Callable[[Space, int, int, Any], Resampling]
    settings: type[Section] = Section


def _racing(space: Space, budget: int, seed: int, settings: RacingSettings) -> Resampling:
    from reprise.tuner.noise.racing import Racing  # imported here, since racing imports scipy, which is slow to import

    return Racing(space, budget, seed, settings)


POLICIES: Mapping[str, Policy] = {
    "none": Policy(repeat.Never),
    "static": Policy(repeat.Static, repeat.StaticSettings),
    "even": Policy(even.Even, even.EvenSettings),
    "sedr": Policy(repeat.Sedr, repeat.SedrSettings),
    "thesis": Policy(thesis_filter.Thesis),
    "racing": Policy(_racing, RacingSettings),
}
DEFAULT = "racing"


def settings_of(policy: str, mapping: Mapping[str, Any]) -> Section:
    """Read the settings of one of `POLICIES` from a campaign file's mapping.

    Raise SettingsError, with one line, if they are invalid.
    """
    return of_policies.read({name: known.settings for name, known in POLICIES.items()}, "policy", policy, mapping)


def build(policy: str, space: Space, budget: int, seed: int, **settings: Any) -> Resampling:
    """Return a policy for a search of `budget` evaluations, including those of the initial design and repetitions."""
    return POLICIES[policy].new(space, budget, seed, settings_of(policy, settings))
