# SPDX-License-Identifier: Apache-2.0
"""What a component is to a campaign over several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from reprise.matcher.decision.user_choices import conflict
from reprise.tuner.model.component import Comparison, Publication, Runner, TrialOutput, TrialPlan
from reprise.tuner.model.space import Parametrization, Space


class Ingredient(Protocol):
    """A component whose default is: nothing is given. Points are of its own `space`, which holds the default."""

    name: str
    version: str
    space: Space
    default: Parametrization
    names: Sequence[str]
    """The variables that it sets."""
    conflicts: Sequence[str]
    """Patterns of variables that have to be left alone where it is used."""
    proved: bool
    """Whether `publish` may run the application once more."""

    def context(self) -> Mapping[str, object]:
        """What its settings hold for; `FromTrials` where only trials tell."""

    def add(self, plan: TrialPlan, point: Parametrization) -> TrialPlan:
        """The plan with the settings of a point that is not the default. Raises TunerError where that cannot be."""

    def check(self, output: TrialOutput) -> None:
        """Raise CampaignFailedError where a trial shows that its settings were not in effect. Only that trial fails."""

    def remarks(self) -> Sequence[str]:
        """What is odd about the trials that `check` has seen, a line each."""

    def publish(self, comparison: Comparison, run: Runner, artifacts: Path) -> Publication | None:
        """What jobs are given of a winner (`comparison` has the ingredient's own point, which is not the default, and
        the gain of all together). None: nothing that could be given."""


def exclude(one: Ingredient, other: Ingredient) -> bool:
    """Whether two components decide the same: both set a variable, or one sets what the other has to be without."""
    return bool(
        set(one.names) & set(other.names)
        or conflict(one.conflicts, other.names)
        or conflict(other.conflicts, one.names)
    )
