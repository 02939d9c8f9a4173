# SPDX-License-Identifier: Apache-2.0
"""Storage of campaigns and their trials."""

from __future__ import annotations

from collections.abc import Sequence

from reprise.database.connection import Connection
from reprise.database.entities import Campaign, CampaignState, Json, Trial
from reprise.database.errors import NotFoundError
from reprise.database.masked_json import masked_json
from reprise.database.row_codec import Table, to_json
from reprise.database.store import Store

# as_given: the keys of JSON objects keep their order, because a campaign's parameter may depend on the parameters that
# `spec` lists before it
CAMPAIGN = Table("campaign", Campaign, as_given=True)
TRIAL = Table("trial", Trial)


class Campaigns(Store):
    """The stored campaigns and trials, from which a tuner that was killed can continue."""

    def add_campaign(self, campaign: Campaign) -> int:
        """Add a campaign and return its id."""
        with self._write() as connection:
            return CAMPAIGN.add(connection, campaign)

    def campaign(self, campaign_id: int) -> Campaign:
        """Return the campaign with this id. Raise NotFoundError if there is none."""
        rows = self._read("SELECT * FROM campaign WHERE id = ?", (campaign_id,))
        if not rows:
            raise no_campaign(campaign_id)
        return CAMPAIGN.decode(rows[0])

    def campaigns(self) -> Sequence[Campaign]:
        """Return all campaigns, newest first."""
        return [CAMPAIGN.decode(row) for row in self._read("SELECT * FROM campaign ORDER BY id DESC")]

    def set_campaign_state(self, campaign_id: int, state: CampaignState, summary: Json | None = None) -> None:
        """Set a campaign's state and, if `summary` is given, its summary.

        Raise NotFoundError if there is no such campaign.
        """
        with self._write() as connection:
            change_campaign(connection, campaign_id, state, summary)

    def campaign_lives(self, campaign_id: int, now: float) -> None:
        """Store `now` as the last time at which the campaign's coordinator was alive.

        Raise NotFoundError if there is no such campaign.
        """
        with self._write() as connection:
            sql = "UPDATE campaign SET heartbeat_at = ? WHERE id = ?"
            if connection.execute(sql, (now, campaign_id)).rowcount == 0:
                raise no_campaign(campaign_id)

    def add_trial(self, trial: Trial) -> int:
        """Add a trial and return its id. No trial of the same problem and campaign may have its number."""
        with self._write() as connection:
            return TRIAL.add(connection, trial)

    def update_trial(self, trial: Trial) -> None:
        """Replace the stored trial that has the id of `trial`. Raise NotFoundError if there is none."""
        with self._write() as connection:
            if connection.execute(TRIAL.update_sql, TRIAL.encode(trial)).rowcount == 0:
                raise NotFoundError(f"no trial with id {trial.id}: add it first")

    def trials(self, campaign_id: int, problem: str | None = None) -> Sequence[Trial]:
        """Return a campaign's trials, or those of the problem `problem`, in the order in which they were added."""
        rows = self._read(
            "SELECT * FROM trial WHERE campaign_id = :campaign AND (:problem IS NULL OR problem = :problem)"
            " ORDER BY id",
            {"campaign": campaign_id, "problem": problem},
        )
        return [TRIAL.decode(row) for row in rows]


def change_campaign(connection: Connection, campaign_id: int, state: CampaignState, summary: Json | None) -> None:
    """Set a campaign's state and, unless `summary` is None, its summary, in the caller's transaction.

    Raise NotFoundError if there is no such campaign.
    """
    text = None if summary is None else to_json(masked_json(summary), "campaign.summary")
    changed = connection.execute(
        "UPDATE campaign SET state = ?, summary = coalesce(?, summary) WHERE id = ?", (state, text, campaign_id)
    ).rowcount
    if changed == 0:
        raise no_campaign(campaign_id)


def no_campaign(campaign_id: int) -> NotFoundError:
    """Return the error for a campaign id that does not exist."""
    return NotFoundError(f"no campaign with id {campaign_id}: `reprise tune list` shows all campaigns")
