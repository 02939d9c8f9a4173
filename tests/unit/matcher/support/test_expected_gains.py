# SPDX-License-Identifier: Apache-2.0
"""Test the gain expected from tuning a class of jobs, and the ranking of classes by expected savings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.entities import CampaignState, RecordStatus, UnmatchedClass
from reprise.matcher.benefit.production_gain import Gain
from reprise.matcher.support.jobs import expected_gains, site_summary
from reprise.matcher.support.jobs.unmatched_classes import basis_text, ranked
from tests.unit.database_values import campaign
from tests.unit.matcher.support.test_jobs import add, reprise, unmatched
from tests.unit.matcher_daemon import Daemon, job, record

SINCE = ("--since", "2001-01-01")


@pytest.fixture
def database(daemon: Daemon) -> Iterator[Database]:
    with Database.open(daemon.database) as one:
        yield one


def tuned(user: str, program: str, gain: float, **changes: Any) -> Any:
    return record(metadata={"user": user, "program": program, "job_name": "x"}, gain=gain, **changes)


def a_class(user: str = "alice", application: str = "solve", node_hours: float = 100.0) -> UnmatchedClass:
    return UnmatchedClass(1, user, application, 4, 1, node_hours, "d-1")


def judged(database: Database, one: UnmatchedClass, component: str | None = None) -> UnmatchedClass:
    [found] = ranked([one], expected_gains.read(database, component))
    return found


def test_a_gain_in_a_benchmark_is_not_expected_until_measured_in_production(database: Database) -> None:
    rules = {"rules": [{"problem": "bcast/4096", "applied": True}]}
    number = database.add_record(tuned("alice", "solve", 0.8, parametrization=rules))
    database.add_record(tuned("alice", "mesh", 0.1))
    found = expected_gains.read(database, None)
    assert (list(found.every), found.in_production) == ([0.1], 0)
    assert judged(database, a_class()).of_program == 0
    in_production = expected_gains.read(database, None, {number: Gain(0.05, 0.01, 0.09, 9, 9)})
    assert (sorted(in_production.every), in_production.in_production) == ([0.05, 0.1], 1)


def in_vain(database: Database, user: str, program: str, state: CampaignState = CampaignState.COMPLETE) -> int:
    spec = {"metadata": {"user": user, "program": program}}
    number = database.add_campaign(campaign(component="romio", spec=spec))
    database.set_campaign_state(number, state, {})
    return number


def test_records_of_the_user_and_then_of_the_program_shift_the_mean_gain_of_all(
    database: Database,
) -> None:
    for user, program, gain in (("eve", "a", 0.1), ("eve", "b", 0.3), ("alice", "c", 0.5), ("bob", "solve", 0.9)):
        database.add_record(tuned(user, program, gain))
    of_all = 0.4
    one = judged(database, a_class())
    of_user = (of_all + 0.5) / 2
    assert one.gain == pytest.approx((of_user + 0.9) / 2)
    assert (one.of_program, one.of_user, one.in_vain) == (1, 1, 0)
    assert judged(database, a_class("nobody", "none")).gain == pytest.approx(of_all)


def test_many_records_of_a_program_outweigh_all_others(database: Database) -> None:
    database.add_records(tuned("eve", "other", 0.1) for _ in range(100))
    database.add_records(tuned("bob", "solve", 0.6) for _ in range(49))
    assert judged(database, a_class()).gain == pytest.approx(0.59)


def test_a_campaign_that_found_nothing_counts_as_a_gain_of_zero(database: Database) -> None:
    database.add_record(tuned("eve", "other", 0.4))
    in_vain(database, "bob", "solve")
    assert judged(database, a_class()).gain == pytest.approx(0.2)
    in_vain(database, "alice", "solve")
    one = judged(database, a_class())
    assert one.gain == pytest.approx(0.2 / 3) and one.in_vain == 2, (
        "the user's campaign counts once, although it is also the program's"
    )
    assert judged(database, a_class("zoe", "none")).gain == pytest.approx(0.4)


def test_only_campaigns_that_were_complete_and_left_no_record_found_nothing(database: Database) -> None:
    for state in (CampaignState.FAILED, CampaignState.STOPPED, CampaignState.RUNNING):
        in_vain(database, "alice", "solve", state)
    database.add_record(tuned("alice", "solve", 0.5, campaign_id=in_vain(database, "alice", "solve")))
    one = judged(database, a_class())
    assert (one.of_program, one.in_vain) == (1, 0) and one.gain == pytest.approx(0.5)


def test_only_records_and_campaigns_of_a_chosen_component_count(database: Database) -> None:
    database.add_record(tuned("alice", "solve", 0.5, component="other"))
    in_vain(database, "alice", "solve")
    one = judged(database, a_class(), "other")
    assert (one.of_program, one.in_vain) == (1, 0)
    one = judged(database, a_class(), "romio")
    assert (one.of_program, one.in_vain) == (0, 1) and one.gain == pytest.approx(expected_gains.ASSUMED_GAIN / 4)


def test_jobs_without_a_name_belong_to_no_program(database: Database) -> None:
    database.add_record(record(scope="cluster", metadata={}, gain=0.2))
    database.add_record(tuned("eve", "", 0.8))
    in_vain(database, "eve", "")
    one = judged(database, a_class(application=""))
    assert (one.of_program, one.in_vain) == (0, 0) and one.gain == pytest.approx(0.5)
    assert judged(database, a_class(application="x")).of_program == 1, "without a program, the job's name counts"


def test_inactive_records_do_not_count(database: Database) -> None:
    database.add_record(tuned("alice", "solve", 0.9, status=RecordStatus.QUARANTINED))
    assert judged(database, a_class()).gain == expected_gains.ASSUMED_GAIN


def test_classes_with_equal_savings_are_ranked_by_node_hours() -> None:
    small, large = a_class(application="a", node_hours=1.0), a_class(application="b", node_hours=2.0)
    nothing = expected_gains.Gains(by_user={"alice": expected_gains.Circle(1, -expected_gains.ASSUMED_GAIN)})
    assert [one.application for one in ranked([large, small], nothing)] == ["b", "a"]


def test_the_basis_of_an_expected_gain_is_stated() -> None:
    assert basis_text(0, 0, 0) == "all"
    assert basis_text(2, 1, 3) == "2 of the program, 1 of the user, 3 fruitless"


def test_classes_are_ranked_by_savings_not_by_node_hours(daemon: Daemon) -> None:
    daemon.add(tuned("zoe", "cfd", 0.6), tuned("zoe", "other", 0.1), tuned("zoe", "another", 0.1))
    with Database.open(daemon.database) as database:
        in_vain(database, "bob", "mesh")
    many = {**job("bob").to_json(), "program": "mesh"}
    few = {**job("carol").to_json(), "program": "cfd"}
    add(daemon, unmatched(11, user="bob", metadata=many), elapsed=7200.0)
    add(daemon, unmatched(12, user="carol", metadata=few), elapsed=3600.0)
    found = json.loads(reprise(daemon, "unmatched", *SINCE, "--json").stdout)
    assert found["expected"]["gain"] == 0.1
    first, second = found["classes"]
    assert (first["program"], first["of_program"], first["of_user"], first["in_vain"]) == ("cfd", 1, 0, 0)
    assert first["gain"] == pytest.approx(0.35) and first["saving"] == pytest.approx(4 * 0.35)
    assert (second["program"], second["in_vain"], second["node_hours"]) == ("mesh", 1, 8.0)
    assert second["saving"] == pytest.approx(8 * 0.1 / 4)
    only = json.loads(reprise(daemon, "unmatched", *SINCE, "--json", "--limit", "1").stdout)["classes"]
    assert only == [first], "--limit also shortens the JSON"


def test_the_overview_ranks_classes_like_the_command(daemon: Daemon) -> None:
    from reprise.config import load
    from tests.unit.matcher.support.test_jobs import NOW

    daemon.add(tuned("zoe", "cfd", 0.6), tuned("zoe", "other", 0.1), tuned("zoe", "another", 0.1))
    for number, program in enumerate(("mesh", "cfd")):
        metadata = {**job("carol").to_json(), "program": program}
        add(daemon, unmatched(11 + number, user="carol", metadata=metadata), elapsed=7200.0 - number)
    with Database.open(daemon.database, read_only=True) as database:
        found = site_summary.read(database, load(daemon.config), NOW + 60)
    assert [one.application for one in found["classes"]] == ["cfd", "mesh"]
