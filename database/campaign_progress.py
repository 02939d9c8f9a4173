# SPDX-License-Identifier: Apache-2.0
"""Progress of the running campaigns, for a monitor."""

from __future__ import annotations

from dataclasses import dataclass

from reprise.database.entities import CampaignState
from reprise.database.store import Store

_PROGRESS = """
SELECT count(*), min(coalesce(heartbeat_at, created_at)),
  min(max(created_at, coalesce((SELECT max(ended_at) FROM trial WHERE campaign_id = campaign.id), created_at)))
FROM campaign WHERE state = ?
"""


@dataclass(frozen=True)
class Progress:
    """Progress of all `running` campaigns; times are in Unix seconds, and None if no campaign is running.

    `alive_at` is the last time at which every coordinator had given a sign of life, and `trial_at` the last time at
    which every campaign had ended a trial; a campaign without trials counts with the time of its start.
    """

    running: int
    alive_at: float | None
    trial_at: float | None


class CampaignProgress(Store):
    """Method that summarizes the campaigns that are stored as running, even if their coordinators were killed."""

    def campaign_progress(self) -> Progress:
        """Return the progress of the running campaigns; the one that is furthest behind counts."""
        return Progress(*self._read(_PROGRESS, (CampaignState.RUNNING,))[0])
