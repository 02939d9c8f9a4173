# SPDX-License-Identifier: Apache-2.0
"""Test `reprise forwarders list` and `map`, a plan of the present, and `reprise arbiter --configured`."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reprise.cli.forwarders import POLICIES
from reprise.cli.main import reprise
from reprise.config import Forwarding
from reprise.database import Database
from reprise.database.entities import ForwarderState
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.record_curve import with_samples
from tests.unit.database_values import decision, forwarder_share, outcome, record

A, B = "10.0.1.1:5640", "10.0.1.2:5640"


class Site:
    def __init__(self, directory: Path) -> None:
        self.file = directory / "reprise.toml"
        self.database = directory / "reprise.db"
        self.file.write_text(
            f'[site]\ncluster = "c"\nnodes = 64\n[database]\npath = "{self.database}"\n'
            f'[forwarding]\nforwarders = ["{A}", "{B}"]\nmaps = "{directory}/maps"\n'
        )
        with Database.open(self.database, create=True):
            pass

    def run(self, *words: str | Path) -> Result:
        return CliRunner().invoke(reprise, ["--config", str(self.file), *map(str, words)])

    def printed(self, *words: str | Path) -> Any:
        done = self.run(*words, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    with Database.open(made.database) as database:
        curve = with_samples({}, {0: [50.0, 50.1], 1: [200.0, 200.2], 2: [500.0, 500.3]})
        number = database.add_record(record(component="forwarders", parametrization=curve))
        database.add_decision(decision("d5", verdict="apply", record_id=number))
        database.report_start(outcome(job_id=5, decision_id="d5"))
        states = [ForwarderState("c", A, True, 0.0), ForwarderState("c", B, False, 0.0, "Connection refused")]
        shares = [forwarder_share(5, forwarders=(A,)), forwarder_share(6, forwarders=(), uid=1002)]
        database.set_forwarding("c", [forwarder_share(5, forwarders=(A, B), reason="the arbiter started")], [], 900.0)
        database.set_forwarding("c", shares, states, 1000.0)
    return made


def test_the_policies_are_those_of_the_arbiter_everywhere() -> None:
    assert set(POLICIES) == set(Policy) == set(typing.get_args(Forwarding.model_fields["policy"].annotation))


def test_the_list_has_states_and_jobs(site: Site) -> None:
    text = site.run("forwarders", "list").output.splitlines()
    assert text[0].split() == ["forwarder", "state", "jobs"]
    assert text[1].startswith(f"{A}  works since 1970-01-01 ") and text[1].endswith(" 5")
    assert "failed since" in text[2] and ": Connection refused  none" in text[2]
    assert text[3:] == [
        "direct access: 6",
        "policy mckp; the arbiter does not run: jobs keep the forwarders that they have",
    ]
    document = site.printed("forwarders", "list")
    assert (document["version"], document["arbiter_runs"], document["policy"], document["direct"]) == (
        *(1, False, "mckp"),
        [6],
    )
    assert document["forwarders"][1] == {
        **{"address": B, "works": False, "since": 1000.0, "reason": "Connection refused"},
        "jobs": [],
    }


def test_a_pool_that_no_arbiter_has_checked_is_listed(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert "not checked yet  none" in site.run("forwarders", "list").output
    assert [one["works"] for one in site.printed("forwarders", "list")["forwarders"]] == [None, None]


def test_the_map_of_a_job_has_its_history_and_reasons(site: Site) -> None:
    lines = site.run("forwarders", "map", "5").output.splitlines()
    assert lines[0].endswith(f"{A}: job 5 started") and " to " not in lines[0]
    assert lines[1].endswith(f"{A}, {B}: the arbiter started") and " to " in lines[1]
    newest, oldest = site.printed("forwarders", "map", "5")["shares"]
    assert (newest["forwarders"], newest["at"], newest["until"], newest["policy"]) == ([A], 1000.0, None, "mckp")
    assert (oldest["at"], oldest["until"], oldest["nodes"], oldest["uid"]) == (900.0, 1000.0, 8, 1001)


def test_a_job_without_a_map_is_reported_in_one_line(site: Site) -> None:
    done = site.run("forwarders", "map", "99")
    assert (done.exit_code, type(done.exception).__name__) == (1, "NothingKnownError")  # `main` exits with 3
    assert "job 99 never had a map" in str(done.exception)


def test_match_explain_names_the_forwarders(site: Site) -> None:
    assert "I/O forwarders from 1970" in site.run("match", "explain", "5").output
    (newest, _) = site.printed("match", "explain", "5")["forwarders"]
    assert (newest["forwarders"], newest["reason"]) == ([A], "job 5 started")


def test_other_users_see_neither_others_jobs_nor_reasons(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from reprise.matcher.support import staff

    monkeypatch.setattr(staff, "reader", lambda _: staff.Reader(1001, False, "support"))
    assert "job 6 never had" in str(site.run("forwarders", "map", "6").exception)
    assert site.run("forwarders", "map", "5").output.splitlines()[0].endswith(f"{A}: by mckp")
    for command in ("list", "plan"):
        assert "only members of the group support" in str(site.run("forwarders", command).exception)


def test_a_plan_without_a_file_has_the_running_jobs_and_the_forwarders_that_work(site: Site) -> None:
    plans = {one["policy"]: one for one in site.printed("forwarders", "plan")["policies"]}
    assert {job["id"]: job["forwarders"] for job in plans["mckp"]["jobs"]} == {"5": 0, "6": 1}  # one works
    assert plans["oracle"]["bandwidth"] == pytest.approx(200.1) and plans["oracle"]["unknown"] == ["6"]
    assert "shares under size:" in site.run("forwarders", "plan", "--why", "size").output


def test_a_plan_without_a_file_and_without_jobs_says_so(tmp_path: Path) -> None:
    assert "no job that uses forwarders is running" in Site(tmp_path).run("forwarders", "plan").output


def test_the_unit_can_see_whether_forwarders_are_configured(site: Site) -> None:
    assert site.run("arbiter", "--configured").exit_code == 0
    site.file.write_text("")
    assert site.run("arbiter", "--configured").exit_code == 1


def test_an_arbiter_without_forwarders_or_on_a_replica_is_refused(site: Site, tmp_path: Path) -> None:
    with site.file.open("a") as file:
        file.write(f'[replica]\nrecords = "{tmp_path}/records.db"\nprimary = ["tcp:10.0.0.5:7817"]\n')
    assert "this matcher is a replica" in str(site.run("arbiter").exception)
    site.file.write_text("")
    assert "forwarding.forwarders is empty" in str(site.run("arbiter").exception)
