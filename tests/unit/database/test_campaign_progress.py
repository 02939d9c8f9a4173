# SPDX-License-Identifier: Apache-2.0
"""Test the progress of running campaigns, which a monitor reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.database.campaign_progress import Progress
from reprise.database.entities import CampaignState
from reprise.database.for_daemon import DaemonDatabase
from tests.unit.database_values import campaign, trial


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "a.db", create=True) as opened:
        yield opened


def progress(database: Database) -> Progress:
    with DaemonDatabase.open(database.path, read_only=True) as daemon:
        return daemon.campaign_progress()


def test_without_running_campaigns_there_are_no_times(database: Database) -> None:
    database.add_campaign(campaign(state=CampaignState.COMPLETE, heartbeat_at=5.0))
    assert progress(database) == Progress(0, None, None)


def test_the_campaign_that_is_furthest_behind_counts(database: Database) -> None:
    """One coordinator was killed; the other works, but its trials do not end."""
    killed = database.add_campaign(campaign(created_at=100.0, heartbeat_at=200.0))
    works = database.add_campaign(campaign(created_at=110.0, heartbeat_at=900.0))
    for number, ended in enumerate((190.0, 180.0)):
        database.add_trial(trial(killed, number, ended_at=ended))
    database.add_trial(trial(works, 0, ended_at=150.0))
    database.add_trial(trial(works, 1))
    assert progress(database) == Progress(2, 200.0, 150.0)
    database.set_campaign_state(works, CampaignState.STOPPED)
    assert progress(database) == Progress(1, 200.0, 190.0)


def test_a_campaign_without_trials_counts_from_its_start(database: Database) -> None:
    database.add_campaign(campaign(created_at=100.0, heartbeat_at=None))
    assert progress(database) == Progress(1, 100.0, 100.0)
