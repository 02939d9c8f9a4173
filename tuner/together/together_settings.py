# SPDX-License-Identifier: Apache-2.0
"""What a campaign over several components may set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from reprise.config import AbsolutePath, Section, first_problem
from reprise.tuner.components.component_schema import ObjectiveSection
from reprise.tuner.errors import TunerError


class Settings(Section):
    """`components` in the order in which they are tried: the one that can gain the most comes first."""

    components: dict[str, dict[str, Any]] = Field(
        min_length=1,
        description="the settings of each, as in a campaign of its own; a parameter without values in its "
        "`space` is left alone",
    )
    first: list[dict[str, Any]] = Field(
        default_factory=list,
        description="points that are tried before all others; what one does not say is the default",
    )
    reads: list[AbsolutePath] = Field(
        default_factory=list, description="files that no trial is to find in memory; needs no rights"
    )
    proxy: AbsolutePath | None = Field(
        None, description="the script of its replay (`reprise tune replay`), which is run instead; gives no record"
    )
    objective: ObjectiveSection = ObjectiveSection()
    nodes: int | None = Field(None, ge=1, description="of the application; its script says so")
    tasks_per_node: int | None = Field(None, ge=1)
    timeout_s: float = Field(86400.0, gt=0, description="seconds after which a trial is stopped")


def read(settings: Mapping[str, Any]) -> Settings:
    """Check the settings. Raises TunerError with one line."""
    try:
        return Settings.model_validate(settings)
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
