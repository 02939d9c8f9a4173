# SPDX-License-Identifier: Apache-2.0
"""The tuner's view of the database: campaigns with their trials, the resulting records, and predictions."""

from __future__ import annotations

from reprise.database.campaigns import Campaigns
from reprise.database.predictions import Predictions
from reprise.database.records import Records


class TunerDatabase(Campaigns, Records, Predictions):
    """The tuner's view of the database; open it with `TunerDatabase.open(path)`."""
