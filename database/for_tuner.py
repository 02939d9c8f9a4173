# SPDX-License-Identifier: Apache-2.0
"""Database methods for the tuner: campaigns with their trials, the resulting records, and predictions."""

from __future__ import annotations

from reprise.database.campaigns import Campaigns
from reprise.database.predictions import Predictions
from reprise.database.records import Records


class TunerDatabase(Campaigns, Records, Predictions):
    """The database with the methods that the tuner needs; open it with `TunerDatabase.open(path)`."""
