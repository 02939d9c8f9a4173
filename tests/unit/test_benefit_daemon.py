# SPDX-License-Identifier: Apache-2.0
"""A real daemon that holds some jobs out: what they are told, and what becomes of a record that does harm."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from database import Database
from database.model import Outcome, RecordStatus
from matcher.benefit.evidence import PAIRS_FIRST
from matcher.benefit.story import WAIT_S
from matcher.benefit.watch import Watch
from reprise.cli import LazyGroup, Settings
from tests.unit.database_values import decision, record
from tests.unit.matcher_daemon import RULES, Daemon, mine, request
from tests.waiting import wait_for

HOLDOUT = "holdout = 0.1"
LOOK_S = 0.8  # the daemon looks at what has ended twice a second


def ended(daemon: Daemon, reply: dict[str, Any], job: int, seconds: float, status: int = 0) -> None:
    """The report of a job's end."""
    message = {
        **{"v": 1, "kind": "outcome", "state": "ended", "decision": reply["id"], "verdict": reply["verdict"]},
        **{"applied": len(reply["env"]), "elapsed_s": seconds, "exit_status": status},
        "job": {"id": job, "array_task": None, "uid": os.getuid(), "nodes": 4, "tasks": 4, "cluster": "test"},
    }
    assert daemon.ask(message)["kind"] == "ok"


def run(daemon: Daemon, *arguments: str) -> Result:
    db = LazyGroup().get_command(click.Context(click.Command("reprise")), "db")
    assert db is not None
    return CliRunner().invoke(db, ["records", *arguments], obj=Settings(daemon.config))


def status(daemon: Daemon, number: int) -> tuple[RecordStatus, str]:
    with Database.open(daemon.database, read_only=True) as database:
        found = database.record(number)
    return found.status, found.status_reason


def jobs(daemon: Daemon, count: int, given_s: float, held_out_s: float, first: int = 1) -> Counter[str]:
    """So many jobs one after the other, which take so long; what they were told."""
    verdicts: Counter[str] = Counter()
    for number in range(first, first + count):
        reply = daemon.ask(request())
        verdicts[reply["verdict"]] += 1
        if reply["verdict"] in ("apply", "holdout"):
            seconds = given_s if reply["verdict"] == "apply" else held_out_s
            ended(daemon, reply, number, seconds * (1 + number % 7 / 50))
    return verdicts


def test_nobody_is_held_out_unless_the_site_says_so(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    assert jobs(daemon, 30, 1.0, 1.0) == {"apply": 30}


def test_of_a_new_record_one_of_two_is_held_out_and_later_the_share_that_was_set(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    (number,) = daemon.add(mine())
    daemon.start()
    assert jobs(daemon, 2 * PAIRS_FIRST, 7.0, 10.0) == {"apply": PAIRS_FIRST, "holdout": PAIRS_FIRST}

    def shown() -> bool:
        told = run(daemon, "show", str(number), "--json")
        return bool(json.loads(told.output)["blocks"] == PAIRS_FIRST)

    wait_for("all ends in the database", shown)
    wait_for("the share that was set", lambda: jobs(daemon, 10, 7.0, 10.0, 1000)["holdout"] <= 2)
    assert status(daemon, number) == (RecordStatus.ACTIVE, "")
    told = run(daemon, "show", str(number)).output
    assert "in production: gain " in told and "on 4 nodes: " in told and f"failed: 0 of {PAIRS_FIRST}" in told


def test_a_job_that_is_held_out_is_given_nothing_and_told_why(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    daemon.add(mine())
    daemon.start()
    replies = [daemon.ask(request()) for _ in range(2)]
    given, held_out = sorted(replies, key=lambda reply: str(reply["verdict"]))
    assert (given["verdict"], held_out["verdict"]) == ("apply", "holdout")
    assert given["env"] == RULES and held_out["env"] == {}
    assert held_out["reason"].startswith("held out, to see what others gain; would be given record 1 (")

    def logged() -> bool:
        with Database.open(daemon.database, read_only=True) as database:
            return database.counts()["decision"] == 2

    wait_for("both in the log", logged)
    with Database.open(daemon.database, read_only=True) as database:
        one, other = (database.decision(reply["id"]) for reply in (given, held_out))
    assert one.block == other.block == min(one.id, other.id) and one.record_id == other.record_id == 1
    assert other.injected == {} and other.fields and other.alternatives[0]["record"] == 1


@pytest.mark.slow
def test_a_harmful_record_is_set_aside_at_once_and_can_be_released(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    (number,) = daemon.add(mine())
    daemon.start()
    found: Counter[str] = Counter()
    for first in range(0, 200, 10):
        found += jobs(daemon, 10, 13.0, 10.0, first)
        if found["none"]:
            break
        time.sleep(LOOK_S)
    assert found["apply"] <= 40
    state, why = status(daemon, number)
    assert state is RecordStatus.QUARANTINED and why.startswith("its jobs take longer: gain -")
    assert "is quarantined" in daemon.ask(request())["reason"]
    assert daemon.log_contains("event=quarantined record=1 why=")
    assert why in run(daemon, "show", str(number)).output
    assert run(daemon, "release", str(number), "--reason", "new library").output == "record 1 is active\n"
    wait_for("jobs that are given it", lambda: jobs(daemon, 4, 7.0, 10.0, 500)["apply"] > 0)
    assert status(daemon, number) == (RecordStatus.ACTIVE, "new library"), "what was before counts no more"


def test_a_record_whose_jobs_fail_is_set_aside(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    (number,) = daemon.add(mine())
    daemon.start()
    for job in range(60):
        reply = daemon.ask(request())
        if reply["verdict"] == "none":
            break
        ended(daemon, reply, job, 5.0, 256 if reply["verdict"] == "apply" else 0)
    wait_for("the record out of use", lambda: status(daemon, number)[0] is RecordStatus.QUARANTINED)
    assert status(daemon, number)[1].startswith("its jobs fail more: ")


# -- what the watch takes, without a daemon ---------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database.open(tmp_path / "a.db", create=True)
    database.add_record(record())
    return database


def pair(database: Database, name: str, given: float | None, held_out: float | None, at: float = 1e6) -> None:
    for kind, verdict, seconds in (("g", "apply", given), ("h", "holdout", held_out)):
        one = decision(f"{name}{kind}", verdict=verdict, record_id=1, block=f"{name}g", at=at, metadata={"nodes": 4})
        database.add_decision(one)
        if seconds is not None:
            end: dict[str, Any] = {
                "ended_at": at + seconds,
                "elapsed_s": seconds,
                "exit_status": 0,
                "decision_id": one.id,
            }
            database.report_end(Outcome("c", hash(one.id) % 10**9, None, 1001, verdict, at, **end))


def watching(now: float = 1e6 + 100, is_open: tuple[str, ...] = ()) -> Watch:
    return Watch(lambda: is_open, lambda: now)


def test_a_restarted_watch_knows_what_was_before(database: Database) -> None:
    for number in range(PAIRS_FIRST):
        pair(database, f"p{number}", 7.0, 10.0)
    watch = watching()
    assert watch.in_doubt(1), "nothing was looked at yet"
    watch.look(database)
    assert not watch.in_doubt(1)


def test_a_block_waits_for_its_jobs_and_at_last_no_more(database: Database) -> None:
    for number in range(PAIRS_FIRST - 1):
        pair(database, f"p{number}", 7.0, 10.0)
    pair(database, "late", 7.0, None)
    database.add_decision(decision("late2", verdict="holdout", record_id=1, block="lateg", at=1e6))
    one = watching()
    one.in_doubt(1)
    one.look(database)
    assert one.in_doubt(1)
    end: dict[str, Any] = {"ended_at": 1e6 + 10, "elapsed_s": 10.0, "exit_status": 0, "decision_id": "lateh"}
    database.report_end(Outcome("c", 77, None, 1001, "holdout", 1e6, **end))
    one.ended("lateh")
    one.look(database)
    assert one.in_doubt(1), "one of its jobs runs still"
    later = watching(1e6 + WAIT_S)
    later.in_doubt(1)
    later.look(database)
    assert not later.in_doubt(1)


def test_a_block_that_more_jobs_will_be_in_is_not_taken_yet(database: Database) -> None:
    for number in range(PAIRS_FIRST):
        pair(database, f"p{number}", 7.0, 10.0)
    watch = watching(is_open=("p0g",))
    watch.in_doubt(1)
    watch.look(database)
    assert watch.in_doubt(1)


def test_reports_of_unknown_decisions_and_gone_records_are_nothing(database: Database) -> None:
    watch = watching()
    watch.ended("nobody")
    watch.in_doubt(77)
    watch.look(database)
    assert watch.in_doubt(77)


def test_another_users_report_of_a_decision_is_no_evidence(database: Database) -> None:
    pair(database, "p", None, 10.0)
    end: dict[str, Any] = {"ended_at": 1e6 + 900, "elapsed_s": 900.0, "exit_status": 0, "decision_id": "pg"}
    database.report_end(Outcome("c", 5, None, 4242, "apply", 1e6, **end))
    assert [one.elapsed_s for one in database.compared(1)] == [None, 10.0]
