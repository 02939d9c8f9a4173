# SPDX-License-Identifier: Apache-2.0
"""Noise: which points to measure again, and which one is the best of what was measured. `docs/noise.md` explains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tuner.noise import repeat, thesis
from tuner.noise.base import Evaluation, Resampling, winner
from tuner.noise.settings import NoSettings, RacingSettings, SettingsError, read
from tuner.space import Space

__all__ = ["DEFAULT", "POLICIES", "Evaluation", "Resampling", "SettingsError", "build", "settings_of", "winner"]


def _racing(space: Space, budget: int, seed: int, settings: RacingSettings) -> Resampling:
    from tuner.noise.racing import Racing  # its model imports scipy, which takes longer than most commands

    return Racing(space, budget, seed, settings)


POLICIES: Mapping[str, tuple[type, Callable[[Space, int, int, Any], Resampling]]] = {
    "none": (NoSettings, repeat.Never),
    "static": (repeat.StaticSettings, repeat.Static),
    "sedr": (repeat.SedrSettings, repeat.Sedr),
    "thesis": (NoSettings, thesis.Thesis),
    "racing": (RacingSettings, _racing),
}
DEFAULT = "racing"


def settings_of(policy: str, mapping: Mapping[str, Any]) -> Any:
    """The typed settings that a campaign file gives to a policy. Raises SettingsError in one line."""
    return read({name: kind for name, (kind, _) in POLICIES.items()}, "noise", policy, mapping)


def build(policy: str, space: Space, budget: int, seed: int, **settings: Any) -> Resampling:
    """A policy for a search of `budget` evaluations in all, initial design and repetitions among them."""
    return POLICIES[policy][1](space, budget, seed, settings_of(policy, settings))
