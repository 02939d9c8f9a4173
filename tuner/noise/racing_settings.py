# SPDX-License-Identifier: Apache-2.0
"""The settings of racing, apart from it: its model imports scipy, which takes longer than most commands."""

from __future__ import annotations

from pydantic import Field

from reprise.config import Section


class RacingSettings(Section):
    """Of `racing`."""

    share: float = Field(0.35, ge=0, le=1, description="of the budget, at its end, for the leaders")
    least: float = Field(0.0005, ge=0, description="a difference between them that does not matter, relative")
