# SPDX-License-Identifier: Apache-2.0
"""Settings of a campaign that tunes several components together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from reprise.config import AbsolutePath, Section, first_problem
from reprise.tuner.components.component_schema import ObjectiveSection
from reprise.tuner.errors import TunerError


class Settings(Section):
    """Settings of a campaign; `components` are tried in order, so the one that can gain the most should be first."""

    components: dict[str, dict[str, Any]] = Field(
        min_length=1,
        description="settings of each component, as in a separate campaign; a parameter without values in its "
        "`space` keeps its default",
    )
    first: list[dict[str, Any]] = Field(
        default_factory=list,
        description="points to try before all others; parameters that a point omits have their defaults",
    )
    reads: list[AbsolutePath] = Field(
        default_factory=list, description="files to drop from memory before each trial; needs no privileges"
    )
    proxy: AbsolutePath | None = Field(
        None, description="replay script (`reprise tune replay`) to run instead of the application; gives no record"
    )
    objective: ObjectiveSection = ObjectiveSection()
    nodes: int | None = Field(None, ge=1, description="nodes of the application; default: from its script")
    tasks_per_node: int | None = Field(None, ge=1, description="tasks on each node; default: from its script")
    timeout_s: float = Field(86400.0, gt=0, description="seconds after which a trial is stopped")


def read(settings: Mapping[str, Any]) -> Settings:
    """Return the checked settings of a campaign.

    Raise TunerError with a one-line message if the settings are invalid.
    """
    try:
        return Settings.model_validate(settings)
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
