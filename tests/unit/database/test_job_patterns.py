# SPDX-License-Identifier: Apache-2.0
"""Test what the database stores of jobs' access patterns."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.database import Database, job_patterns
from reprise.database.entities import JobPattern
from reprise.database.job_patterns import LONGEST_S, MOST_PATTERNS, RunPatterns, Seen
from tests.unit.database_values import decision, outcome

STRIDED, UNKNOWN = "write/shared/strided/64K", "unknown"


def seen(pattern: str, seconds: float = 1.0, size: int = 100, job: int = 5, user: int | None = None) -> Seen:
    return Seen(job, pattern, seconds, size, user)


def test_what_is_seen_of_a_running_job_is_added_up(database: Database) -> None:
    number = database.report_start(outcome(job_id=5))
    database.add_job_patterns("c", [seen(UNKNOWN), seen(STRIDED, 2.0, 300)], 1010.0)
    database.add_job_patterns("c", [seen(STRIDED, 0.5, 50)], 1020.0)
    assert database.job_patterns([number, number, 99]) == {
        number: [JobPattern(number, STRIDED, 2.5, 350), JobPattern(number, UNKNOWN, 1.0, 100)]
    }


def test_jobs_that_do_not_run_have_no_patterns(database: Database) -> None:
    ended = database.report_start(outcome(job_id=5))
    database.report_end(outcome(job_id=5, ended_at=1100.0, elapsed_s=100.0, exit_status=0))
    other = database.report_start(outcome(job_id=6, cluster="other"))
    later = database.report_start(outcome(2000.0, job_id=7))
    lost = database.report_start(outcome(1.0, job_id=8))
    database.add_job_patterns("c", [seen(STRIDED, job=job) for job in (5, 6, 7, 9)], 1200.0)
    database.add_job_patterns("c", [seen(STRIDED, job=8)], 2.0 + LONGEST_S)
    assert database.job_patterns([ended, other, later, lost]) == {}


def test_a_requeued_job_has_the_patterns_of_each_run(database: Database) -> None:
    first = database.report_start(outcome(1000.0))
    database.add_job_patterns("c", [seen(STRIDED)], 1010.0)
    second = database.report_start(outcome(5000.0))
    database.add_job_patterns("c", [seen(UNKNOWN)], 5010.0)
    assert {key: [one.pattern for one in some] for key, some in database.job_patterns([first, second]).items()} == {
        first: [STRIDED],
        second: [UNKNOWN],
    }


def test_a_job_has_a_limited_number_of_patterns_which_still_grow(database: Database) -> None:
    number = database.report_start(outcome())
    database.add_job_patterns("c", [seen(f"p{index}") for index in range(MOST_PATTERNS + 5)], 1010.0)
    database.add_job_patterns("c", [seen("p0", size=900), seen("new")], 1010.0)
    found = database.job_patterns([number])[number]
    assert len(found) == MOST_PATTERNS and (found[0].pattern, found[0].bytes) == ("p0", 1000)


def test_patterns_are_deleted_with_the_reports_of_their_job(database: Database) -> None:
    number = database.report_start(outcome())
    database.add_job_patterns("c", [seen(STRIDED)], 1010.0)
    assert database.counts()["job_pattern"] == 1
    database.purge(1e9)
    assert database.job_patterns([number]) == {} and database.counts()["job_pattern"] == 0


# --- patterns whose user munge confirmed


def test_only_confirmed_bytes_of_the_jobs_user_are_counted_as_such(database: Database) -> None:
    number = database.report_start(outcome(uid=1000))
    stranger, own = seen(STRIDED, size=10**12, user=1001), seen(STRIDED, user=1000)
    database.add_job_patterns("c", [stranger, seen(STRIDED, size=7), own, own], 1010.0)
    assert database.job_patterns([number]) == {number: [JobPattern(number, STRIDED, 3.0, 207, 200)]}


def test_a_user_who_reports_another_users_job_as_own_does_not_take_its_patterns(database: Database) -> None:
    victim = database.report_start(outcome(uid=1000))
    liar = database.report_start(outcome(1001.0, uid=1001))
    database.add_job_patterns("c", [seen(STRIDED, user=1000), seen(UNKNOWN, user=1001)], 1010.0)
    found = database.job_patterns([victim, liar])
    assert {key: [one.pattern for one in some] for key, some in found.items()} == {victim: [STRIDED], liar: [UNKNOWN]}


def test_a_users_patterns_are_those_of_own_runs_with_own_decisions(database: Database) -> None:
    for number, uid in ((1, 1000), (2, 1000), (3, 1001)):
        database.add_decision(decision(f"d{number}", at=1000.0 + number, uid=uid, metadata={"path": f"/p{number}"}))
    database.report_start(outcome(job_id=1, uid=1000, decision_id="d1"))
    database.report_start(outcome(job_id=2, uid=1000, decision_id="d2"))
    database.report_start(outcome(job_id=3, uid=1001, decision_id="d3"))
    database.report_start(outcome(job_id=4, uid=1001, decision_id="d1"))  # claims another user's decision
    database.report_start(outcome(job_id=5, uid=1000))
    many = [seen(STRIDED, job=job, user=1000 if job in (1, 2, 5) else 1001) for job in (1, 2, 3, 4, 5)]
    database.add_job_patterns("c", [*many, seen(UNKNOWN, job=1, user=1000), seen("other", job=2)], 1010.0)
    of_first = RunPatterns({"path": "/p1"}, {STRIDED: 100, UNKNOWN: 100})
    of_second = RunPatterns({"path": "/p2"}, {STRIDED: 100})
    assert database.patterns_of_user(1000, 0.0, 10) == [of_second, of_first]
    assert database.patterns_of_user(1000, 1001.5, 10) == [of_second]
    assert database.patterns_of_user(1000, 0.0, 1) == [of_second]
    assert [one.metadata for one in database.patterns_of_user(1001, 0.0, 10)] == [{"path": "/p3"}]
    assert database.patterns_of_user(1002, 0.0, 10) == []


def test_of_an_array_only_the_newest_tasks_are_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_patterns, "MOST_RUNS", 2)
    database.add_decision(decision("d1"))
    for task in range(4):
        database.report_start(outcome(job_id=task + 1, array_task=task, decision_id="d1"))
        database.add_job_patterns("c", [seen(STRIDED, size=task + 1, job=task + 1, user=outcome().uid)], 1010.0)
    assert [one.bytes_of for one in database.patterns_of_user(outcome().uid, 0.0, 10)] == [{STRIDED: 4}, {STRIDED: 3}]


def test_the_search_for_a_users_patterns_reads_no_table_as_a_whole(tmp_path: Path) -> None:
    words = {"uid": 1, "since": 0.0, "latest": 10, "most": 5}
    with Database.open(tmp_path / "a.db", create=True) as database:
        plan = [row["detail"] for row in database._read(f"EXPLAIN QUERY PLAN {job_patterns._OF_USER}", words)]
    assert not [step for step in plan if step.startswith("SCAN") and step.split()[1] not in ("newest", "found")]
