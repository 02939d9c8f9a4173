# SPDX-License-Identifier: Apache-2.0
"""Test `reprise jobs profile` with access to the database: profile, verdict, and comparison with the record."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprise.cli.main import reprise
from reprise.database import Database
from reprise.database.entities import Outcome, RecordProfile
from tests.unit.cli.test_match import decision
from tests.unit.matcher_daemon import Daemon, job, record
from tests.unit.tuner.profile.test_job_reports import write


@pytest.fixture
def site(daemon: Daemon, tmp_path: Path) -> Daemon:
    """Create a site where job 12 matched record 1, ran, and left profile reports in its submission directory."""
    submitted = {**job("alice").to_json(), "directory": str(tmp_path / "work")}
    daemon.add(record(metadata=submitted))
    with Database.open(daemon.database) as database:
        database.add_decision(decision("d-1", metadata=submitted, uid=os.geteuid()))
        database.report_start(Outcome("test", 12, None, os.geteuid(), "apply", 1.7e9, "d-1", 2))
    write(tmp_path / "work" / "reprise-profile-12", program="/opt/so\x1blve")
    return daemon


def run(site: Daemon, *words: str) -> Result:
    return CliRunner().invoke(reprise, ["--config", str(site.config), *words], env={"PATH": "/nowhere"})


def keep(site: Daemon, **shares: float) -> None:
    with Database.open(site.database) as database:
        database.set_profile(RecordProfile(1, 1.7e9, "", {"shares": shares, "waiting": 0.0}))


def test_the_profile_is_found_where_the_job_was_submitted_and_compared(site: Daemon, tmp_path: Path) -> None:
    keep(site, compute=1.0)
    done = json.loads(run(site, "jobs", "profile", "12", "--json").output)
    assert done["directory"] == str(tmp_path / "work" / "reprise-profile-12")
    assert (done["compared"]["verdict"], done["why_not_compared"], done["end_reported"]) == ("alike", "", False)
    assert done["profile"]["shares"]["compute"] > 0.7 and done["verdict"] == "nothing here can be tuned"
    keep(site, **{"io.read.small": 1.0})
    text = run(site, "jobs", "profile", "d-1").output
    assert "behaves differently from its record" in text.splitlines()[-1]
    assert text.splitlines()[-1].endswith("record 1 (openmpi-collectives) was a wrong match, whatever its score")
    assert "note: job d-1 has not reported its end" in text and "\x1b" not in text


def test_a_job_unknown_to_the_database_still_has_a_profile(site: Daemon, tmp_path: Path) -> None:
    place = tmp_path / "work" / "reprise-profile-12"
    done = run(site, "jobs", "profile", "99", "--directory", str(place))
    assert done.exit_code == 0 and "nothing is known of job 99" in done.output.splitlines()[-1]
    told = json.loads(run(site, "jobs", "profile", "99", "--directory", str(place), "--json").output)
    assert told["compared"] is None and "nothing is known of job 99" in told["why_not_compared"]


def test_without_reports_the_searched_directories_are_named(site: Daemon, tmp_path: Path) -> None:
    (tmp_path / "work" / "reprise-profile-12").rename(tmp_path / "work" / "elsewhere")
    done = run(site, "jobs", "profile", "12")
    assert done.exit_code == 1
    assert f"no reprise-profile-12 that you can read in {tmp_path / 'work'}, {Path.cwd()}" in str(done.exception)


def test_an_invalid_job_name_is_refused(site: Daemon) -> None:
    assert getattr(run(site, "jobs", "profile", "../x").exception, "exit_status", 0) == 3


def test_explain_and_show_mention_the_profile_of_the_users_own_job(site: Daemon, tmp_path: Path) -> None:
    for words in (["match", "explain", "12"], ["jobs", "show", "12"]):
        assert "`reprise jobs profile 12` shows it" in run(site, *words).output
    (tmp_path / "work" / "reprise-profile-12").rename(tmp_path / "work" / "elsewhere")
    assert "jobs profile" not in run(site, "match", "explain", "12").output
