# SPDX-License-Identifier: Apache-2.0
"""Test what the database stores for I/O forwarding: jobs that use forwarders, their shares, and forwarders' states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.entities import ForwarderState, Measurement
from reprise.database.forwarding import LONGEST_S, held_sql
from tests.unit.database_values import ON_SQLITE, decision, forwarder_share, outcome, record

TUNED = Measurement(300.0, 290.0, 310.0, 5)


def start(database: Database, job: int, component: str = "forwarders", **changes: Any) -> int:
    """Add a record, a decision and the start of a job; `changes` are those of the outcome."""
    given: Mapping[str, Any] = {"parametrization": {"forwarders": 2}, "tuned": TUNED, "default": TUNED}
    number = database.add_record(record(component=component, **given))
    database.add_decision(decision(f"d{job}", verdict="apply", record_id=number))
    return database.report_start(outcome(**{"job_id": job, "decision_id": f"d{job}", **changes}))


def test_jobs_with_settings_of_the_component_are_found_alone_or_in_a_combination(database: Database) -> None:
    first = start(database, 1)
    second = start(database, 2, "forwarders+romio")
    start(database, 3, "romio")
    start(database, 4, "other-forwarders")
    found = database.forwarded_since("c", 0)
    assert [(one.outcome_id, one.job_id, one.component) for one in found] == [
        (first, 1, "forwarders"),
        (second, 2, "forwarders+romio"),
    ]
    assert (found[0].parametrization, found[0].expected_s) == ({"forwarders": 2}, 300.0)
    assert [one.job_id for one in database.forwarded_since("c", first)] == [2]
    assert [one.job_id for one in database.forwarded_jobs("c", [2, 3, 99])] == [2]
    assert database.forwarded_jobs("other", [1]) == []


@pytest.mark.parametrize(
    "changes", [{"uid": 1002}, {"cluster": "other"}, {"verdict": "observe"}, {"decision_id": "d9"}]
)
def test_a_start_that_is_not_that_of_the_decisions_job_does_not_count(
    database: Database, changes: dict[str, Any]
) -> None:
    start(database, 1, **changes)
    assert database.forwarded_since("c", 0) == []


def test_a_job_that_ended_is_no_longer_found_and_reported_as_ended(database: Database) -> None:
    number, other = start(database, 1), start(database, 2)
    assert database.ended_outcomes([number, other]) == set()
    database.report_end(outcome(job_id=1, decision_id="d1", ended_at=1100.0, elapsed_s=100.0, exit_status=0))
    assert database.ended_outcomes([number, other, 999]) == {number, 999}
    assert [one.job_id for one in database.forwarded_since("c", 0)] == [2]


def test_the_expected_run_time_is_unknown_if_the_gain_is_not_that_of_the_run_time(database: Database) -> None:
    values = {"parametrization": {"gain_of": "bytes read"}, "component": "forwarders", "default": TUNED, "tuned": TUNED}
    database.add_decision(decision("d1", verdict="apply", record_id=database.add_record(record(**values))))
    database.report_start(outcome(decision_id="d1"))
    assert [one.expected_s for one in database.forwarded_since("c", 0)] == [None]


def test_shares_that_differ_end_and_equal_ones_continue(database: Database) -> None:
    one, two = forwarder_share(1), forwarder_share(2, forwarders=("10.0.1.2:5640", "10.0.1.3:5640"))
    database.set_forwarding("c", [one, two], [], 10.0)
    moved = replace(two, forwarders=("10.0.1.2:5640",), reason="job 3 started")
    database.set_forwarding("c", [replace(one, reason="job 3 started"), moved], [], 20.0)
    assert [(share.job_id, share.at, share.reason) for share in database.shares_now("c")] == [
        (1, 10.0, "job 5 started"),
        (2, 20.0, "job 3 started"),
    ]
    assert [(share.at, share.until, len(share.forwarders)) for share in database.shares_of_job("c", 2)] == [
        (20.0, None, 1),
        (10.0, 20.0, 2),
    ]
    assert database.shares_of_job("c", 2, uid=1002) == []
    database.set_forwarding("c", [], [], 5.0)  # the clock was set back
    assert database.shares_now("c") == []
    assert database.shares_of_job("c", 2)[0].until == 20.0


def test_states_of_forwarders_have_periods_and_those_of_other_clusters_stay(database: Database) -> None:
    database.set_forwarding("d", [], [ForwarderState("d", "10.0.9.9:1", True, 0.0)], 1.0)
    for at, works in ((10.0, True), (20.0, True), (30.0, False)):
        state = ForwarderState("c", "10.0.1.1:5640", works, 0.0, "" if works else "timed out")
        database.set_forwarding("c", [], [state], at)
    (now,) = database.states_now("c")
    assert (now.works, now.at, now.reason) == (False, 30.0, "timed out")
    assert len(database.states_now("d")) == 1


@pytest.fixture
def history(database: Database) -> Database:
    """Return a database where jobs 1 to 4 follow each other every 10 s, and job 9 runs throughout."""
    always = forwarder_share(9, forwarders=())
    for place in range(4):
        one = ForwarderState("c", "10.0.1.1:5640", place % 2 == 0, 0.0)
        database.set_forwarding("c", [always, forwarder_share(place + 1)], [one], 10.0 * (place + 1))
    database.set_forwarding("d", [forwarder_share(7, cluster="d")], [], 20.0)
    return database


@pytest.mark.parametrize(
    ("since", "until", "jobs"),
    [
        (0.0, 10.0, []),
        (0.0, 10.1, [1, 9]),
        (12.0, 13.0, [1, 9]),
        (19.9, 20.1, [2, 1, 9]),
        (20.0, 30.0, [2, 9]),
        (40.0, 99.0, [4, 9]),
        (0.0, 99.0, [4, 3, 2, 1, 9]),
    ],
)
def test_shares_of_an_interval_are_found_newest_first(
    history: Database, since: float, until: float, jobs: list[int]
) -> None:
    assert [share.job_id for share in history.shares_between("c", since, until)] == jobs


def test_states_of_an_interval_are_found_newest_first(history: Database) -> None:
    found = history.states_between("c", 25.0, 40.1)
    assert [(state.at, state.until, state.works) for state in found] == [
        (40.0, None, False),
        (30.0, 40.0, True),
        (20.0, 30.0, False),
    ]


def test_the_newest_shares_of_an_interval_are_returned_if_there_are_too_many(history: Database) -> None:
    assert [share.job_id for share in history.shares_between("c", 0.0, 99.0, limit=2)] == [4, 3]


def test_a_share_that_began_long_before_an_interval_is_found_if_its_job_still_has_it(database: Database) -> None:
    late = LONGEST_S + 100.0
    database.set_forwarding("c", [forwarder_share(1), forwarder_share(2), forwarder_share(3)], [], 10.0)
    database.set_forwarding("c", [forwarder_share(1), forwarder_share(3)], [], LONGEST_S)
    database.set_forwarding("c", [forwarder_share(1)], [], late)
    assert [share.job_id for share in database.shares_between("c", LONGEST_S - 1, late)] == [3, 2, 1]
    assert [share.job_id for share in database.shares_between("c", LONGEST_S + 50.0, late)] == [1], "too long ago"


@ON_SQLITE
@pytest.mark.parametrize("table", ["forwarder_share", "forwarder_state"])
def test_an_interval_is_read_by_indexes_and_only_present_rows_are_sorted(database: Database, table: str) -> None:
    values = {"cluster": "c", "since": 1.0, "until": 2.0, "longest": LONGEST_S, "limit": 5}
    plan = [row["detail"] for row in database._read(f"EXPLAIN QUERY PLAN {held_sql(table)}", values)]
    assert [step for step in plan if "MERGE" not in step] == [
        "LEFT",
        f"SEARCH {table} USING INDEX {table}_now (cluster=?)",
        "USE TEMP B-TREE FOR ORDER BY",
        "RIGHT",
        f"SEARCH {table} USING INDEX {table}_by_time (at>? AND at<?)",
    ]


def test_old_shares_are_purged_unless_they_still_hold(database: Database) -> None:
    database.set_forwarding("c", [forwarder_share(1), forwarder_share(2)], [], 10.0)
    database.set_forwarding("c", [forwarder_share(1)], [], 20.0)
    assert database.purge(100.0) == 1
    assert [share.job_id for share in database.shares_now("c")] == [1]


def test_changes_of_other_connections_are_noticed(database: Database) -> None:
    before = database.changes_of_others()
    assert database.changes_of_others() == before
    with Database.open(database.name) as other:
        other.report_start(outcome())
        assert other.newest_outcome() == 1
    assert database.changes_of_others() != before
