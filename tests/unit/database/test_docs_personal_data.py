# SPDX-License-Identifier: Apache-2.0
"""Test the SQL in docs/how-to/access.md that deletes one user's data: it leaves a valid database without that user."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.database.entities import RecordProfile, RecordStatus, UserQuarantine
from reprise.database.job_patterns import Seen
from reprise.matcher.decision.known_records import readable
from tests.places import ROOT
from tests.unit.database_values import decision, forwarder_share, outcome, record

PAGE = (ROOT / "docs/how-to/access.md").read_text()
ALICE, BOB = 30001, 30002


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a database with a record, a decision and a report of alice and of bob."""
    path = tmp_path / "reprise.db"
    with Database.open(path, create=True) as database:
        for number, (user, uid) in enumerate([("alice", ALICE), ("bob", BOB)], 1):
            metadata = {"user": user, "job_name": "solve", "directory": f"/home/{user}/secret-project"}
            record_id = database.add_record(record(metadata=metadata))
            database.set_profile(RecordProfile(record_id, 6.0, "90.0% compute", {"version": 1}))
            database.quarantine_for(UserQuarantine(record_id, uid, user, 5.0, "its jobs take longer"))
            database.add_decision(
                decision(f"d{number}", uid=uid, user=user, metadata=metadata, record_id=record_id, job_id=number)
            )
            database.report_start(outcome(uid=uid, job_id=number, decision_id=f"d{number}"))
            database.add_job_patterns("c", [Seen(number, "write/shared/strided/64K", 1.0, 5)], 1001.0)
            share = forwarder_share(number, uid=uid, reason=f"job of {user} started")
            database.set_forwarding("c", [*database.shares_now("c"), share], [], 8.0)
        database.set_record_status(1, RecordStatus.RETIRED, at=7.0, reason="the user left")
    return path


def run_the_documented_sql(path: Path) -> None:
    (sql,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(sql)


def test_nothing_of_the_user_is_left_in_the_file_and_the_data_of_others_stay(file: Path) -> None:
    run_the_documented_sql(file)
    left = b"".join(one.read_bytes() for one in file.parent.iterdir())
    assert (b"alice" in left, b"bob" in left) == (False, True)
    with Database.open(file, read_only=True) as database:
        assert database.problems() == []
        kept = {name: number for name, number in database.counts().items() if number}
    assert kept == {
        **{"record": 2, "decision": 1, "outcome": 1, "record_status": 3, "user_quarantine": 1, "profile": 1},
        **{"forwarder_share": 1, "job_pattern": 1},
    }


def test_an_active_record_is_not_changed(file: Path) -> None:
    with Database.open(file) as database:
        database.set_record_status(1, RecordStatus.ACTIVE, at=8.0)
    run_the_documented_sql(file)
    assert b"alice" in file.read_bytes()


def test_the_matcher_reads_the_records_that_are_left(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    run_the_documented_sql(file)
    with Database.open(file, read_only=True) as database:
        known = [(number, one is not None) for number, one in readable(database.record_texts())]
    assert known == [(1, False), (2, True)]  # retired records are not read
    assert caplog.text == ""
