# SPDX-License-Identifier: Apache-2.0
"""Test what the database stores of jobs' access patterns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.database.entities import JobPattern
from reprise.database.job_patterns import LONGEST_S, MOST_PATTERNS
from tests.unit.database_values import outcome

STRIDED, UNKNOWN = "write/shared/strided/64K", "unknown"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "a.db", create=True) as opened:
        yield opened


def seen(pattern: str, seconds: float = 1.0, size: int = 100) -> JobPattern:
    return JobPattern(0, pattern, seconds, size)


def test_what_is_seen_of_a_running_job_is_added_up(database: Database) -> None:
    number = database.report_start(outcome(job_id=5))
    database.add_job_patterns("c", {5: [seen(UNKNOWN), seen(STRIDED, 2.0, 300)]}, 1010.0)
    database.add_job_patterns("c", {5: [seen(STRIDED, 0.5, 50)]}, 1020.0)
    assert database.job_patterns([number, number, 99]) == {
        number: [JobPattern(number, STRIDED, 2.5, 350), JobPattern(number, UNKNOWN, 1.0, 100)]
    }


def test_jobs_that_do_not_run_have_no_patterns(database: Database) -> None:
    ended = database.report_start(outcome(job_id=5))
    database.report_end(outcome(job_id=5, ended_at=1100.0, elapsed_s=100.0, exit_status=0))
    other = database.report_start(outcome(job_id=6, cluster="other"))
    later = database.report_start(outcome(2000.0, job_id=7))
    lost = database.report_start(outcome(1.0, job_id=8))
    database.add_job_patterns("c", {job: [seen(STRIDED)] for job in (5, 6, 7, 9)}, 1200.0)
    database.add_job_patterns("c", {8: [seen(STRIDED)]}, 2.0 + LONGEST_S)
    assert database.job_patterns([ended, other, later, lost]) == {}


def test_a_requeued_job_has_the_patterns_of_each_run(database: Database) -> None:
    first = database.report_start(outcome(1000.0))
    database.add_job_patterns("c", {5: [seen(STRIDED)]}, 1010.0)
    second = database.report_start(outcome(5000.0))
    database.add_job_patterns("c", {5: [seen(UNKNOWN)]}, 5010.0)
    assert {key: [one.pattern for one in some] for key, some in database.job_patterns([first, second]).items()} == {
        first: [STRIDED],
        second: [UNKNOWN],
    }


def test_a_job_has_a_limited_number_of_patterns_which_still_grow(database: Database) -> None:
    number = database.report_start(outcome())
    database.add_job_patterns("c", {5: [seen(f"p{index}") for index in range(MOST_PATTERNS + 5)]}, 1010.0)
    database.add_job_patterns("c", {5: [seen("p0", size=900), seen("new")]}, 1010.0)
    found = database.job_patterns([number])[number]
    assert len(found) == MOST_PATTERNS and (found[0].pattern, found[0].bytes) == ("p0", 1000)


def test_patterns_are_deleted_with_the_reports_of_their_job(database: Database) -> None:
    number = database.report_start(outcome())
    database.add_job_patterns("c", {5: [seen(STRIDED)]}, 1010.0)
    assert database.counts()["job_pattern"] == 1
    database.purge(1e9)
    assert database.job_patterns([number]) == {} and database.counts()["job_pattern"] == 0
