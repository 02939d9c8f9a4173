# SPDX-License-Identifier: Apache-2.0
"""Test `reprise status`, on one screen and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from reprise.cli.main import LazyGroup, Settings
from reprise.cli.status import document, lines, plugin
from reprise.database import Database
from reprise.doctor.findings import ok, problem
from tests.unit.database_values import campaign, record

STATUS = LazyGroup().get_command(click.Context(click.Command("reprise")), "status")
SUMMARY = {
    "at": 1.0,
    "days": [],
    "recent_days": 30,
    "matcher": {"answers": True, "version": "1.2", "records": 12, "uptime_s": 5 * 86400 + 5},
    "records": {"retired": 3, "active": 12, "quarantined": 0},
    "campaigns_running": 2,
    "decisions": {"apply": 1000, "none": 500},
    "match_rate": 0.667,
    "benefit": {"saved": 120.25, "low": 100.0, "high": 140.0, "jobs": 900, "node_hours": 1531.1, "by_record": []},
}
LOADS = plugin([ok("plugin", "/usr/lib/spank_reprise.so, built for Slurm 24.11"), ok("plugstack", "loads it")])


def test_the_status_fits_one_screen() -> None:
    assert lines(document("rome", SUMMARY, LOADS)) == [
        "cluster    rome",
        "matcher    answers, version 1.2, 12 records loaded, up 5 days",
        "plugin     /usr/lib/spank_reprise.so, built for Slurm 24.11",
        "records    12 active, 3 retired",
        "campaigns  2 running",
        "decisions  1,500 in 30 days, 67% matched a record",
        "savings    120.2 node-hours in 30 days (95 % bounds 100.0 to 140.0), by 900 jobs that took 1,531.1",
    ]


def test_the_status_of_a_new_site_names_the_first_steps() -> None:
    nothing = dict.fromkeys(("version", "records", "uptime_s"))
    empty = {
        **SUMMARY,
        "matcher": {"answers": False, **nothing},
        "records": {},
        "decisions": {},
        "match_rate": None,
        "benefit": {"saved": None, "jobs": 0, "node_hours": 0.0},
    }
    shown = lines(document("rome", empty, plugin([ok("plugin", "there"), problem("plugstack", "no line", "add it")])))
    assert shown[1] == "matcher    does not answer: run `reprise doctor`"
    assert shown[2] == "plugin     no line: run `reprise doctor`"
    assert shown[3] == "records    none: tune an application with `reprise tune application`"
    assert shown[5:] == [
        "decisions  none in 30 days",
        "savings    not measured yet; 0 jobs were given settings in 30 days",
    ]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "reprise.db"
    with Database.open(path, create=True) as database:
        database.add_campaign(campaign())
        database.add_record(record())
    file = tmp_path / "reprise.toml"
    file.write_text(
        f'[site]\ncluster = "rome"\n[database]\npath = "{path}"\n[matcher]\nsocket = "{tmp_path}/none.sock"\n'
    )
    return Settings(file)


def test_the_status_as_json_has_the_same_figures(settings: Settings) -> None:
    assert STATUS is not None
    result = CliRunner().invoke(STATUS, ["--json"], obj=settings, catch_exceptions=False)
    found = json.loads(result.output)
    assert (found["version"], found["cluster"], found["records"]) == (1, "rome", {"active": 1})
    assert found["matcher"]["answers"] is False and found["benefit"]["saved"] is None
    assert set(found["plugin"]) == {"loads", "text"}
    shown = CliRunner().invoke(STATUS, [], obj=settings, catch_exceptions=False).output
    assert "records    1 active\n" in shown and "matcher    does not answer" in shown
