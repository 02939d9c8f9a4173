# SPDX-License-Identifier: Apache-2.0
"""Notification of administrators of the end of a campaign."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from reprise.config import Config
from reprise.database.entities import Campaign, CampaignState
from reprise.eventlog import line
from reprise.notify.delivery import deliver
from reprise.notify.notification import campaign_ended

log = logging.getLogger(__name__)


def tell_end(
    config: Config, campaign: Campaign, state: CampaignState, records: Sequence[int] = (), why: str = ""
) -> None:
    """Notify of a campaign that ended in `state`, if that is configured; a failure is a line in the log.

    This takes at most some `notify.timeout_s` for each way of sending, when all work is done.
    """
    if not config.notify.wants("campaign-end"):
        return
    name, component = campaign.name, campaign.component
    told = campaign_ended(config.site.cluster, campaign.id, name, component, state.value, records, why)
    for failure in deliver(config.notify, told):
        log.warning(line("notify-failed", about=told.event, by=failure.by, error=failure.why))
