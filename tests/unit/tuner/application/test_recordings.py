# SPDX-License-Identifier: Apache-2.0
"""Test how many runs of an application are counted if recording it for a proxy fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.cli import tune_application
from reprise.config import Config
from reprise.database.facade import Database
from reprise.tuner.application import planned, proxy_campaign
from reprise.tuner.application.choice import Choice
from reprise.tuner.errors import ProxyError
from reprise.tuner.executors.trial_script import CLAIM
from tests.unit.tuner_site import Site


@pytest.mark.parametrize("begins", [False, True])
def test_only_a_recording_that_began_counts_as_a_run(site: Site, monkeypatch: pytest.MonkeyPatch, begins: bool) -> None:
    def make(asked: object, config: Config, executor: object, directory: Path, timeout_s: float, warn: object) -> Path:
        run = directory / proxy_campaign.RUN
        run.mkdir(parents=True)
        if begins:
            (run / CLAIM).symlink_to("4711")  # a trial's script makes this link when it begins
        raise ProxyError("it calls MPI_Comm_spawn")

    monkeypatch.setattr(proxy_campaign, "make", make)
    asked = planned.Asked(site.directory / "app.sh", "alice", site.directory, (), {})
    with Database.open(site.config.database.path) as database:
        ranked, proxy, runs = tune_application._ranked_on_proxy(database, asked, Choice(), site.config)
    assert (ranked, proxy["made"], runs) == (None, False, int(begins))
