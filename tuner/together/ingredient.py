# SPDX-License-Identifier: Apache-2.0
"""Interface of a component that a campaign tunes together with other components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from reprise.matcher.decision.user_choices import conflict
from reprise.tuner.model.component import Comparison, Publication, Runner, TrialOutput, TrialPlan
from reprise.tuner.model.space import Parametrization, Space


class Ingredient(Protocol):
    """A component that is tuned together with others; its default sets nothing.

    Points are in its `space`, which includes the default.
    """

    name: str
    version: str
    space: Space
    default: Parametrization
    names: Sequence[str]
    """Environment variables that the component sets."""
    conflicts: Sequence[str]
    """Patterns of environment variables that nothing else may set when the component is used."""
    proved: bool
    """Whether `publish` may run the application once more."""

    def context(self) -> Mapping[str, object]:
        """Return the conditions under which the settings are valid; `FromTrials` marks a value from the trials."""

    def add(self, plan: TrialPlan, point: Parametrization) -> TrialPlan:
        """Return the plan with the settings of a point that is not the default.

        Raise TunerError if the settings cannot be added.
        """

    def check(self, output: TrialOutput) -> None:
        """Raise CampaignFailedError if a trial shows that its settings were not in effect.

        The caller then lets only that trial fail.
        """

    def remarks(self) -> Sequence[str]:
        """Return remarks about anomalies in the trials that `check` examined, one line each."""

    def publish(self, comparison: Comparison, run: Runner, artifacts: Path) -> Publication | None:
        """Return the publication of a winner's settings, or None if jobs cannot get any of them.

        `comparison` has the ingredient's part of the winning point, which is not the default, and the gain of all
        components together.
        """


def exclude(one: Ingredient, other: Ingredient) -> bool:
    """Return whether two components exclude each other.

    They do if both set a variable, or if one sets a variable that conflicts with the other.
    """
    return bool(
        set(one.names) & set(other.names)
        or conflict(one.conflicts, other.names)
        or conflict(other.conflicts, one.names)
    )
