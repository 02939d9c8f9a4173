# SPDX-License-Identifier: Apache-2.0
"""Test the comparison of a job's behavior with its record, which must not reveal too much of another user's record."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import pytest

from reprise.config import load as load_config
from reprise.database import Database
from reprise.database.entities import Outcome, RecordProfile, Scope
from reprise.matcher.benefit.profile_distance import Shares
from reprise.matcher.daemon import service as service_module
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.pending_writes import Queue
from reprise.matcher.daemon.service import Service
from reprise.matcher.errors import MatcherError, ProtocolError
from reprise.matcher.support import asking_daemon, behaviour, job_story
from reprise.matcher.support.behaviour import Behaviour, Comparison
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import compare_request
from tests.unit.cli.test_match import decision
from tests.unit.matcher_daemon import Daemon, job, record

ALICE, BOB = 1000, 1001
SOLVES = {"mpi.collective.allreduce": 0.6, "compute": 0.4}
READS = {"io.read.small": 0.9, "compute": 0.1}


@pytest.fixture
def site(daemon: Daemon) -> Daemon:
    """Prepare alice's record 1, and two jobs that matched it: alice's job 12, and bob's job 13, which has not ended."""
    daemon.add(record(metadata=job("alice").to_json()))
    with Database.open(daemon.database) as database:
        for uid, user, number in ((ALICE, "alice", 12), (BOB, "bob", 13)):
            database.add_decision(decision(f"d-{number}", uid=uid, user=user, job_id=number))
        database.report_start(Outcome("test", 13, None, BOB, "apply", 1.7e9, "d-13", 2))
    return daemon


def keep(site: Daemon, shares: Mapping[str, float], record_id: int = 1) -> None:
    with Database.open(site.database) as database:
        database.set_profile(RecordProfile(record_id, 1.7e9, "", {"shares": dict(shares), "waiting": 0.0}))


def end(site: Daemon, *, confirmed: bool = True) -> None:
    """Report the end of bob's job, either confirmed (by slurmstepd) or unconfirmed (by bob himself)."""
    ended = Outcome("test", 13, None, BOB, "apply", 1.7e9, "d-13", 2, 1.7e9 + 5, 5.0, 0)
    with Database.open(site.database) as database:
        database.report_end(dataclasses.replace(ended, confirmed=confirmed))


def service(site: Daemon) -> Service:
    return Service(Basis(lambda: load_config(site.config)), Queue().put, Queue().put_unmade)


def asked(one: Service, uid: int, name: str, shares: Mapping[str, float]) -> dict[str, Any]:
    body = json.dumps(compare_request(name, None, shares, 0.0)).encode()
    return asyncio.run(one.answer(body, uid))[0]


def test_the_records_owner_sees_how_a_job_differs(site: Daemon) -> None:
    one = service(site)
    assert asked(one, ALICE, "12", SOLVES)["verdict"] == "no-profile"
    keep(site, SOLVES)
    assert asked(one, ALICE, "12", SOLVES)["verdict"] == "alike"
    reply = asked(one, ALICE, "12", READS)
    assert (reply["kind"], reply["verdict"], reply["record"], reply["hidden"]) == ("comparison", "otherwise", 1, False)
    assert reply["words"].startswith("this job behaves differently from its record: 90% of its run time")
    assert behaviour.text(Comparison.from_json(reply)).endswith(
        ": record 1 (openmpi-collectives) was a wrong match, whatever its score"
    )


def test_another_users_record_gives_only_a_verdict_and_the_first_one_stands(site: Daemon) -> None:
    keep(site, SOLVES)
    end(site)
    one = service(site)
    first = asked(one, BOB, "13", READS)
    assert (first["verdict"], first["words"], first["hidden"]) == ("otherwise", "", True)
    for made_up in (SOLVES, READS, {"mpi.collective.allreduce": 0.5, "compute": 0.5}):
        assert asked(one, BOB, "13", made_up) == first, (
            "other verdicts for other profiles would reveal the record's profile"
        )
    assert "another user's" in behaviour.text(Comparison.from_json(first))
    assert asked(one, 0, "13", SOLVES)["verdict"] == "alike", "root sees everything"


@pytest.mark.parametrize("confirmed", [None, False])
def test_a_job_without_a_confirmed_end_reveals_nothing_of_another_users_record(
    site: Daemon, confirmed: bool | None
) -> None:
    keep(site, SOLVES)
    if confirmed is not None:
        end(site, confirmed=confirmed)
    assert asked(service(site), BOB, "13", READS)["verdict"] == "not-ended"


def test_a_missing_profile_is_not_remembered(site: Daemon) -> None:
    end(site)
    one = service(site)
    assert asked(one, BOB, "13", READS)["verdict"] == "no-profile"
    keep(site, SOLVES)
    assert asked(one, BOB, "13", READS)["verdict"] == "otherwise"


@pytest.mark.parametrize("name", ["12", "d-12", "99", "12_1"])
def test_another_users_job_looks_like_one_that_matched_nothing(site: Daemon, name: str) -> None:
    keep(site, SOLVES)
    reply = asked(service(site), BOB, name, SOLVES)
    assert (reply["verdict"], reply["record"]) == ("no-record", None)


@pytest.mark.parametrize(
    ("verdict", "found"),
    [("apply", "alike"), ("holdout", "alike"), ("observe", "alike"), ("none", "no-record"), ("defer", "no-record")],
)
def test_a_match_is_compared_even_if_its_settings_were_not_given(site: Daemon, verdict: str, found: str) -> None:
    keep(site, SOLVES)
    with Database.open(site.database) as database:
        database.add_decision(decision("d-14", uid=ALICE, job_id=14, verdict=verdict, injected={}))
    assert asked(service(site), ALICE, "14", SOLVES)["verdict"] == found


def test_a_record_for_the_whole_cluster_is_no_application(site: Daemon) -> None:
    site.add(record(scope=Scope.CLUSTER, metadata={}))
    with Database.open(site.database) as database:
        database.add_decision(decision("d-15", uid=BOB, user="bob", job_id=15, record_id=2))
    keep(site, SOLVES, 2)
    assert asked(service(site), BOB, "15", READS)["verdict"] == "no-application"


def test_a_comparison_counts_as_ten_requests(site: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "ASKED_AT_ONCE", 25)
    monkeypatch.setattr(service_module, "ASKED_PER_S", 0.001)
    one = service(site)
    assert [asked(one, BOB, "13", SOLVES)["kind"] for _ in range(3)] == ["comparison", "comparison", "error"]


def test_an_unreadable_database_is_reported_without_details(site: Daemon) -> None:
    one = service(site)
    site.database.unlink()
    assert asked(one, BOB, "13", SOLVES)["reason"] == "the matcher cannot read its database: see its log"


@pytest.mark.parametrize(
    "changes",
    [
        {"shares": {"compute": 1.5}},
        {"shares": {"compute": -0.1}},
        {"shares": {"Compute\x1b": 0.1}},
        {"shares": {f"a{number}": 0.1 for number in range(129)}},
        {"shares": {"compute": "much"}},
        {"waiting": 2},
        {"job": "a b"},
    ],
)
def test_an_invalid_profile_is_refused(changes: Mapping[str, object]) -> None:
    message = {**compare_request("12", None, SOLVES, 0.1), **changes}
    with pytest.raises(ProtocolError):
        protocol.read_request(json.dumps(message).encode())


def test_each_verdict_has_its_sentence() -> None:
    for verdict in Behaviour:
        for hidden in (False, True):
            said = behaviour.text(Comparison(verdict, "d-1", 7, "sro", "", hidden))
            assert said and "\n" not in said
            assert ("another user's" in said) is (hidden and "alike otherwise no-profile not-ended".find(verdict) >= 0)


def test_a_comparison_of_another_release_is_refused() -> None:
    for reply in ({}, {**Comparison(Behaviour.ALIKE).to_json(), "verdict": "new"}):
        with pytest.raises(ProtocolError, match="install the daemon's release"):
            Comparison.from_json(reply)


def test_the_error_of_a_daemon_that_compares_no_profiles_is_quoted(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "reprise.matcher.wire.client.ask", lambda *_: protocol.error_reply("kind 'compare' is not known")
    )
    with pytest.raises(MatcherError, match="cannot compare profiles: kind 'compare' is not known"):
        asking_daemon.comparison(load_config(daemon.config), "12", None, Shares(SOLVES, 0.0))


def test_shares_that_rounding_raised_above_1_are_sent_as_1(site: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(site, {"compute": 1.0})
    one = service(site)

    def ask(_path: object, message: Mapping[str, Any], *_: object) -> dict[str, Any]:
        return asked(one, ALICE, message["job"], message["shares"])

    monkeypatch.setattr("reprise.matcher.wire.client.ask", ask)
    found = asking_daemon.comparison(load_config(site.config), "12", None, Shares({"compute": 1.0000001}, 1.0000001))
    assert found.verdict == Behaviour.ALIKE


def test_a_story_without_the_record_gives_the_verdict_no_record(site: Daemon) -> None:
    with Database.open(site.database, read_only=True) as database:
        story = job_story.Story(decisions=[job_story.Explained(decision())])
        assert behaviour.compare(database, story, Shares(SOLVES, 0.0), None).verdict == Behaviour.NO_RECORD
