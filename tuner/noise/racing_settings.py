# SPDX-License-Identifier: Apache-2.0
"""Settings of racing, in a file of their own, since racing imports scipy, which takes longer than most commands."""

from __future__ import annotations

from pydantic import Field

from reprise.config import Section


class RacingSettings(Section):
    """Settings of `racing`."""

    share: float = Field(0.35, ge=0, le=1, description="share of the budget, at its end, that is spent on the leaders")
    least: float = Field(0.0005, ge=0, description="relative difference below which leaders count as equal")
