# SPDX-License-Identifier: Apache-2.0
"""Test the command that follows a campaign while it runs."""

from __future__ import annotations

import io
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from reprise.database.entities import CampaignState, TrialRole
from reprise.database.facade import Database
from reprise.tuner.definition import campaign_place
from reprise.tuner.report import campaign_overview, following
from tests.nobody import as_nobody
from tests.unit.report_values import DEFAULT, Written, searched, written
from tests.unit.tuner_site import Command, Site


def watched(campaign: Written, between: Callable[[int], None], terminal: bool = False) -> tuple[int, str]:
    """Follow a campaign, and return the exit status and the output.

    After each check, call `between` with the check's number.
    """
    site, looks = campaign.site, itertools.count()
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, height=24, highlight=False)
    with Database.open(site.config.database.path, read_only=True) as database:
        status = following.watch(
            database,
            campaign.number,
            site.config,
            1.0,
            console,
            sleep=lambda _: between(next(looks)),
            clock=itertools.count(step=10).__next__,
        )
    assert isinstance(console.file, io.StringIO)
    return status, console.file.getvalue()


@pytest.mark.parametrize(
    ("state", "status"), [(CampaignState.COMPLETE, 0), (CampaignState.FAILED, 1), (CampaignState.STOPPED, 3)]
)
@pytest.mark.parametrize("terminal", [False, True])
def test_following_ends_with_the_campaign_and_reports_its_state(
    site: Site, state: CampaignState, status: int, terminal: bool
) -> None:
    campaign = searched(site)
    ends: dict[str, Any] = {} if state is CampaignState.COMPLETE else {"error": "out of luck"}
    with campaign_place.locked(campaign.campaign, campaign_place.directory_of(campaign.campaign, site.config)):
        found, text = watched(campaign, lambda look: campaign.end(state, **ends) if look == 1 else None, terminal)
    assert found == status
    assert text.splitlines()[-1].startswith(f"campaign 1 is {state}: ")


def test_without_a_terminal_a_line_is_printed_for_each_change(site: Site) -> None:
    campaign = searched(site)

    def between(look: int) -> None:
        if look == 1:
            campaign.trial(TrialRole.SEARCH, {"size": 2, "kind": "c"}, 0.5)
        if look == 3:
            campaign.end(CampaignState.STOPPED, error="stopped")

    with campaign_place.locked(campaign.campaign, campaign_place.directory_of(campaign.campaign, site.config)):
        _, text = watched(campaign, between)
    lines = [line.split("; last sign")[0] for line in text.splitlines()]
    assert [line.split("; ")[:4] for line in dict.fromkeys(lines[:-2])] == [
        ["campaign 1 running", "p/1 (1 of 2), search", "9 trials", "best so far 1.1 s (+45.0 %)"],
        ["campaign 1 running", "p/1 (1 of 2), search", "10 trials", "best so far 500 ms (+75.0 %)"],
    ]


def test_following_a_campaign_without_a_coordinator_ends_after_a_moment(site: Site) -> None:
    """The command first checks several times for a coordinator, because a coordinator may just be starting."""
    campaign = searched(site)
    looks: list[int] = []
    status, text = watched(campaign, looks.append)
    assert (status, len(looks)) == (3, following.LOOKS - 1)
    assert "campaign 1 is interrupted after 10 trials" in text and "no coordinator is running" in text


def test_a_coordinator_that_may_hang_is_reported(site: Site) -> None:
    campaign = searched(site)
    described = site.read(
        lambda database: campaign_overview.describe(database, campaign.campaign, site.config, now=1_000_000.0 + 1200)
    )
    described |= {"state": "running", "silent_s": 1200.0}
    assert "no sign of life for 20 min: check whether its coordinator hangs" in following.line(described)
    described["silent_s"] = 3.0
    assert "last sign of life 3 s ago" in following.line(described)


def test_ctrl_c_leaves_the_campaign_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = searched(site)

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(following, "watch", interrupt)
    done = Command(site)("tune", "watch", "1")
    assert done.exit_code == 130 and "campaign 1 continues" in done.stderr
    assert campaign.campaign.state is CampaignState.RUNNING


def shown(campaign: Written, height: int, **changes: Any) -> list[str]:
    described = campaign.described() | changes
    console = Console(file=io.StringIO(), width=140, height=height)
    console.print(following.picture(described, height))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_terminal_shows_the_problems_around_the_current_one(site: Site) -> None:
    keys = [f"p/{number}" for number in range(100)]
    campaign = written(site, settings={"problems": keys})
    for key in keys[:50]:
        campaign.trial(TrialRole.DEFAULT, DEFAULT, 2.0, key)
    lines = shown(campaign, 24, warm_start=[{"record": 7, "score": 0.93}])
    assert len(lines) <= 24
    assert any(line.startswith("p/49 ") for line in lines) and not any(line.startswith("p/1 ") for line in lines)
    assert "starts from the best settings of the nearest tuned jobs: record 7 (score 0.93)" in lines


def test_a_terminal_shows_what_runs(site: Site) -> None:
    campaign = searched(site)
    running = [
        {
            "problem": "p/1",
            "number": 4,
            "role": "search",
            "job": 77,
            "parametrization": {"size": 8},
            "usual": {},
            "begun_s": 65.0,
        },
        {
            "problem": "p/1",
            "number": 5,
            "role": "search",
            "job": None,
            "parametrization": {"size": 1},
            "usual": {},
            "begun_s": None,
        },
    ]
    lines = [line.split() for line in shown(campaign, 24, running=running)]
    assert ["p/1", "4", "search", "77", "65", "s", "size=8"] in lines
    assert ["p/1", "5", "search", "not", "started", "size=1"] in lines


def test_names_cannot_move_a_terminal_s_cursor(site: Site) -> None:
    campaign = written(site, settings={"problems": ["p\x1b[2J[red]"]})
    campaign.trial(TrialRole.DEFAULT, DEFAULT, 2.0, "p\x1b[2J[red]")
    assert any("p�[2J[red]" in line for line in shown(campaign, 24))


def test_another_user_who_can_read_the_database_can_follow_a_campaign(site: Site) -> None:
    campaign = searched(site)
    campaign.end(CampaignState.STOPPED, error="stopped")
    for path in (*site.directory.parents, site.directory, site.directory / "db"):
        if path.stat().st_uid == 0 and "pytest" in str(path):
            path.chmod(0o755)
    for path in (site.directory / "db").iterdir():
        path.chmod(0o644)
    with as_nobody():
        status, text = watched(campaign, lambda _: None)
    assert status == 3 and "campaign 1 is stopped: stopped" in text


def test_following_does_not_keep_a_coordinator_from_locking_its_campaign(site: Site) -> None:
    """To check for a coordinator, the command locks the campaign for an instant; a starting coordinator then waits."""
    import fcntl

    campaign = written(site).campaign
    directory = campaign_place.directory_of(campaign, site.config)
    directory.mkdir(parents=True)
    looker = (directory / campaign_place.LOCK).open("a+")
    fcntl.flock(looker, fcntl.LOCK_SH)
    threading.Timer(0.06, looker.close).start()
    with campaign_place.locked(campaign, directory):
        assert campaign_place.is_running(campaign, site.config)
