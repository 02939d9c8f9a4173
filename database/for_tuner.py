# SPDX-License-Identifier: Apache-2.0
"""The database as a campaign uses it: definitions and trials, the records that come of them, and predictions."""

from __future__ import annotations

from reprise.database.campaigns import Campaigns
from reprise.database.predictions import Predictions
from reprise.database.records import Records


class TunerDatabase(Campaigns, Records, Predictions):
    """Open it with `TunerDatabase.open(path)`."""
