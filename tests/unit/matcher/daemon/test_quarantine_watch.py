# SPDX-License-Identifier: Apache-2.0
"""Test a daemon that holds out some jobs: its replies, and the quarantine of harmful records."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from reprise.cli.main import LazyGroup, Settings
from reprise.database import Database
from reprise.database.comparisons import BLOCK_SQL
from reprise.database.entities import Compared, Decision, Outcome, RecordStatus
from reprise.matcher.benefit import record_benefit
from reprise.matcher.benefit.harm_test import JOBS_FIRST, PAIRS_FIRST
from reprise.matcher.benefit.record_benefit import FILL_S, WAIT_S
from reprise.matcher.daemon.quarantine_watch import OVERDUE_S, Watch
from reprise.matcher.submission import Submission, parse
from tests.unit.database_values import decision, record
from tests.unit.matcher_daemon import ME, RULES, Daemon, job, mine, request
from tests.unit.matcher_daemon import record as tuned
from tests.waiting import wait_for

HOLDOUT = "holdout = 0.1"
HINTS = {"ROMIO_HINTS": "/var/lib/reprise/artifacts/a.hints"}
UID = 1001  # uid in the decisions of `database_values`
LOOK_S = 0.8  # s; longer than the half second between two searches of the daemon for ended jobs


def ended(daemon: Daemon, reply: dict[str, Any], job: int, seconds: float, status: int = 0) -> None:
    """Send the report of a job's end."""
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


def decisions(daemon: Daemon) -> int:
    with Database.open(daemon.database, read_only=True) as database:
        return database.counts()["decision"]


def status(daemon: Daemon, number: int) -> tuple[RecordStatus, str]:
    with Database.open(daemon.database, read_only=True) as database:
        found = database.record(number)
    return found.status, found.status_reason


def set_aside(daemon: Daemon, number: int) -> str:
    """Return why a record is quarantined for the user who runs the tests, or "" if it is not quarantined."""
    with Database.open(daemon.database, read_only=True) as database:
        return next((one.reason for one in database.user_quarantines(number) if one.uid == os.getuid()), "")


def jobs(daemon: Daemon, count: int, given_s: float, held_out_s: float, first: int = 1) -> Counter[str]:
    """Run `count` jobs one after the other, and return how many jobs got each verdict."""
    verdicts: Counter[str] = Counter()
    for number in range(first, first + count):
        reply = daemon.ask(request())
        verdicts[reply["verdict"]] += 1
        if reply["verdict"] in ("apply", "holdout"):
            seconds = given_s if reply["verdict"] == "apply" else held_out_s
            ended(daemon, reply, number, seconds * (1 + number % 7 / 50))
    return verdicts


def test_no_job_is_held_out_by_default(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    assert jobs(daemon, 30, 1.0, 1.0) == {"apply": 30}


def test_explain_tells_what_the_users_own_jobs_gain(daemon: Daemon) -> None:
    """Until jobs have been compared, it says so: the record's gain may be that of a benchmark."""
    daemon.configure(HOLDOUT)
    daemon.add(mine(parametrization={"rules": [{"problem": "bcast/65536", "applied": True}]}))
    daemon.start()

    def given(mode: str) -> str:
        """Return the reason for a job that gets the settings; others are held out."""
        while (answer := daemon.ask(request(mode=mode)))["verdict"] != "apply":
            pass
        return str(answer["reason"])

    def explained(words: str) -> str:
        """Return a reason with these words; under load, the gain of the user's own jobs may come too late."""
        return wait_for(words, lambda: found if words in (found := given("explain")) else "")

    measured = "2 variables of openmpi-collectives, measured gain of bcast of 64 KiB in a benchmark: 30% (at least 28%)"
    assert explained("this job").endswith(f"{measured}; this job: not measured yet")
    assert given("on").endswith(measured)
    jobs(daemon, 24, 7.0, 10.0)
    reason = explained("your last")
    assert re.search(rf"{re.escape(measured)}; your last \d+ jobs with it: gain (2|3)\d% \(95 %: ", reason), reason
    with contextlib.closing(sqlite3.connect(daemon.database)) as connection:
        reasons = [reason for (reason,) in connection.execute("SELECT reason FROM decision")]
    assert len(reasons) > 24 and not any("your last" in one or "this job" in one for one in reasons)


def test_a_new_record_holds_out_every_other_job_and_later_the_configured_share(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    (number,) = daemon.add(mine())
    daemon.start()
    assert jobs(daemon, 2 * PAIRS_FIRST, 7.0, 10.0) == {"apply": PAIRS_FIRST, "holdout": PAIRS_FIRST}

    def shown() -> bool:
        told = run(daemon, "show", str(number), "--json")
        return bool(json.loads(told.output)["blocks"] == PAIRS_FIRST)

    wait_for("all jobs' ends in the database", shown)
    wait_for("the configured share of held-out jobs", lambda: jobs(daemon, 10, 7.0, 10.0, 1000)["holdout"] <= 2)
    assert status(daemon, number) == (RecordStatus.ACTIVE, "")
    told = run(daemon, "show", str(number)).output
    assert (
        "in production: gain " in told
        and "on 4 nodes: " in told
        and re.search(r"failed: 0 of \d+ jobs with these settings, 0 of", told)
    )


@pytest.mark.slow
def test_another_users_record_holds_out_every_other_job_until_enough_jobs_have_ended(
    daemon: Daemon,
) -> None:
    daemon.configure("holdout = 0.05", 'model = "thesis"', "threshold = 0.01")
    daemon.add(tuned(metadata=job("alice").to_json()))
    daemon.start()
    verdicts = Counter(daemon.ask(request())["verdict"] for _ in range(JOBS_FIRST))
    wait_for("all decisions in the database", lambda: decisions(daemon) == JOBS_FIRST)
    time.sleep(2 * LOOK_S)  # time for the daemon to count the decisions
    verdicts += Counter(daemon.ask(request())["verdict"] for _ in range(40))
    assert verdicts == {"apply": JOBS_FIRST / 2 + 20, "holdout": JOBS_FIRST / 2 + 20}


def test_a_held_out_job_gets_no_settings_and_a_reason(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    daemon.add(mine())
    daemon.start()
    replies = [daemon.ask(request()) for _ in range(2)]
    given, held_out = sorted(replies, key=lambda reply: str(reply["verdict"]))
    assert (given["verdict"], held_out["verdict"]) == ("apply", "holdout")
    assert given["env"] == RULES and held_out["env"] == {}
    assert held_out["reason"].startswith("held out to measure the gain of other jobs; would get record 1 (")

    wait_for("both decisions in the database", lambda: decisions(daemon) == 2)
    with Database.open(daemon.database, read_only=True) as database:
        one, other = (database.decision(reply["id"]) for reply in (given, held_out))
    assert one.block == other.block == min(one.id, other.id) and one.record_id == other.record_id == 1
    assert other.injected == {} and other.fields and other.alternatives[0]["record"] == 1


def both(daemon: Daemon) -> tuple[int, int]:
    """Add a record of each of two components, both for the same jobs, and return the records' ids."""
    one, other = daemon.add(mine(), mine(component="romio", environment=HINTS, conflicts=["ROMIO_*"]))
    return one, other


def test_one_of_several_records_is_applied_and_jobs_are_held_out_from_it(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    records = both(daemon)
    daemon.start()
    replies = [daemon.ask(request()) for _ in range(40)]
    assert {frozenset(reply["env"]) for reply in replies} == {frozenset(RULES), frozenset()}
    assert {reply["verdict"] for reply in replies} == {"apply", "holdout"}
    wait_for("all decisions in the database", lambda: decisions(daemon) == 40)
    with Database.open(daemon.database, read_only=True) as database:
        blocks = [database.compared(number) for number in records]
    assert [len(jobs) for jobs in blocks] == [40, 0]
    assert sum(job.held_out for job in blocks[0]) == 20


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_jobs_that_do_not_report_their_run_time_are_not_held_out(daemon: Daemon, command: str) -> None:
    argv = (command, "-N4", "--ntasks-per-node=1", "/home/alice/bin/lattice", "--steps", "200")
    of_command = parse(Submission(command, argv, "/home/alice"), user=ME, submit_time=1.7e9)
    daemon.configure(HOLDOUT)
    daemon.add(tuned(metadata=of_command.to_json()))
    daemon.start()
    asked = request(None)
    asked["submission"] |= {"command": command, "argv": list(argv)}
    assert {daemon.ask(asked)["verdict"] for _ in range(20)} == {"apply"}


@pytest.mark.slow
def test_a_harmful_record_is_quarantined_at_once_and_can_be_released(daemon: Daemon) -> None:
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
    why = set_aside(daemon, number)
    assert why.startswith("its jobs take longer: gain -")
    assert status(daemon, number) == (RecordStatus.ACTIVE, ""), "the record stays active for other users"
    assert "is quarantined for this user, whose jobs it harmed" in daemon.ask(request())["reason"]
    assert daemon.log_contains(f"event=quarantined record=1 user={ME} why=")
    assert re.search(rf"quarantined for {ME} since .*: {re.escape(why)}", run(daemon, "show", str(number)).output)
    assert "active, but not for 1 user" in run(daemon, "list").output
    assert run(daemon, "release", str(number), "--reason", "new library").output == "record 1 is active\n"
    wait_for("jobs that get the record's settings", lambda: jobs(daemon, 4, 7.0, 10.0, 500)["apply"] > 0)
    assert status(daemon, number) == (RecordStatus.ACTIVE, "new library")
    assert not set_aside(daemon, number), "jobs before the release no longer count"


def test_a_record_whose_jobs_fail_is_quarantined(daemon: Daemon) -> None:
    daemon.configure(HOLDOUT)
    (number,) = daemon.add(mine())
    daemon.start()
    for turn in range(60):
        reply = daemon.ask(request())
        if reply["verdict"] == "none":
            break
        ended(daemon, reply, turn, 5.0, 256 if reply["verdict"] == "apply" else 0)
    wait_for("the quarantine of the record", lambda: bool(set_aside(daemon, number)))
    assert set_aside(daemon, number).startswith("its jobs fail more often: ")


# -- the watch, without a daemon --------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database.open(tmp_path / "a.db", create=True)
    database.add_record(record())
    return database


def of_user(database: Database, uid: int, given: float, held_out: float, pairs: int, failed: bool = False) -> None:
    """Add pairs of a user's jobs: one with settings, which takes `given` s and fails if `failed`, and one held out."""
    user: dict[str, Any] = {"uid": uid, "user": f"user{uid}"}
    for number in range(pairs):
        for kind, seconds in (("g", given), ("h", held_out)):
            name = f"u{uid}-{number:03}{kind}"
            verdict = "apply" if kind == "g" else "holdout"
            database.add_decision(compared(name, f"u{uid}-{number:03}g", verdict, **user))
            took = seconds * (1 + number % 7 / 50)
            told: dict[str, Any] = {
                "ended_at": 1e6 + took,
                "elapsed_s": took,
                "exit_status": 256 * (failed and kind == "g"),
            }
            job = zlib.crc32(name.encode())
            database.report_end(Outcome("c", job, None, uid, "apply", 1e6, decision_id=name, confirmed=True, **told))


def look_at(database: Database, *uids: int) -> Watch:
    watch = watching()
    for uid in uids:
        watch.in_doubt(1, uid)
        watch.look(database)
    return watch


def test_one_users_jobs_quarantine_a_record_only_for_that_user(database: Database) -> None:
    of_user(database, 1, 20.0, 10.0, 200)
    of_user(database, 2, 7.0, 10.0, 2)
    look_at(database, 1, 2)
    assert [(one.uid, one.user) for one in database.user_quarantines(1)] == [(1, "1")]
    assert database.record(1).status is RecordStatus.ACTIVE
    assert [one.reason[:23] for one in database.status_changes(1)] == ["quarantined for 1: its "]


def test_several_users_jobs_quarantine_a_record_for_all(database: Database) -> None:
    for uid in (1, 2):
        of_user(database, uid, 13.0, 10.0, 30)
    look_at(database, 1, 2)
    assert database.record(1).status is RecordStatus.QUARANTINED
    assert database.record(1).status_reason.startswith("it is quarantined for 2 users: for the last, its jobs take")


def test_two_harmed_users_do_not_quarantine_a_record_for_several_who_gain(database: Database) -> None:
    for uid in (1, 2):
        of_user(database, uid, 13.0, 10.0, 30)
    for uid in (3, 4, 5):
        of_user(database, uid, 7.0, 10.0, PAIRS_FIRST)
    look_at(database, 3, 4, 5, 1, 2)
    assert database.record(1).status is RecordStatus.ACTIVE and len(database.user_quarantines(1)) == 2


def test_many_users_with_few_jobs_each_quarantine_a_record_but_three_do_not(database: Database) -> None:
    for uid in range(1, 4):
        of_user(database, uid, 30.0, 10.0, 6, failed=True)
    watch = look_at(database, *range(1, 4))
    assert database.record(1).status is RecordStatus.ACTIVE and not database.user_quarantines(1)
    for uid in range(4, 24):
        of_user(database, uid, 15.0, 10.0, 2)
        watch.in_doubt(1, uid)
        watch.look(database)
    assert database.record(1).status is RecordStatus.QUARANTINED and not database.user_quarantines(1)


def test_a_watch_of_too_many_users_forgets_and_reads_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.matcher.daemon.quarantine_watch.WATCHED", 3)
    for uid in range(1, 6):
        of_user(database, uid, 7.0, 10.0, PAIRS_FIRST)
    watch = look_at(database, *range(1, 6))
    watch.in_doubt(1, 1)
    watch.look(database)
    assert not watch.in_doubt(1, 1)


def test_unconfirmed_ends_are_no_evidence(database: Database) -> None:
    for number in range(100):
        pair(database, f"p{number}", None, None)
        for kind, seconds in (("g", 90.0), ("h", 1.0)):
            told: dict[str, Any] = {"ended_at": 1e6 + seconds, "elapsed_s": seconds, "exit_status": 0}
            database.report_end(
                Outcome("c", 2 * number + (kind == "g"), None, UID, "apply", 1e6, f"p{number}{kind}", **told)
            )
    look_at(database, UID)
    assert not database.user_quarantines(1) and database.record(1).status is RecordStatus.ACTIVE
    assert {one.elapsed_s for one in database.compared(1)} == {None}
    assert database.given_by_record(0.0) == {} and database.alike(1, 4, but="") == ([], [])


def compared(name: str, block: str, verdict: str, at: float = 1e6, **changes: Any) -> Decision:
    """Return the decision about one of the two jobs of a block: with the settings of record 1, or held out."""
    place = {"block": block, "block_size": 2, "compared_id": 1, "held_out": verdict == "holdout"}
    return decision(name, verdict=verdict, record_id=1, at=at, **{"metadata": {"nodes": 4}, **place, **changes})


def pair(database: Database, name: str, given: float | None, held_out: float | None, at: float = 1e6) -> None:
    for kind, verdict, seconds in (("g", "apply", given), ("h", "holdout", held_out)):
        one = compared(f"{name}{kind}", f"{name}g", verdict, at)
        database.add_decision(one)
        if seconds is not None:
            end(database, one.id, seconds, at)


def end(database: Database, decision_id: str, seconds: float, at: float = 1e6) -> None:
    """Report the end, confirmed by Slurm, of the job with this decision."""
    told: dict[str, Any] = {"ended_at": at + seconds, "elapsed_s": seconds, "exit_status": 0, "confirmed": True}
    number = zlib.crc32(decision_id.encode())
    database.report_end(Outcome("c", number, None, 1001, "apply", at, decision_id=decision_id, **told))


def watching(now: float = 1e6 + 100) -> Watch:
    return Watch(lambda: now)


def test_a_restarted_watch_reads_earlier_jobs(database: Database) -> None:
    for number in range(PAIRS_FIRST):
        pair(database, f"p{number}", 7.0, 10.0)
    watch = watching()
    assert watch.in_doubt(1, UID), "in doubt, because the watch has not looked at any jobs yet"
    watch.look(database)
    assert not watch.in_doubt(1, UID)


def test_a_block_waits_for_its_jobs_for_a_limited_time(database: Database) -> None:
    for number in range(PAIRS_FIRST - 1):
        pair(database, f"p{number}", 7.0, 10.0)
    for name, verdict in (("lateg", "apply"), ("lateh", "holdout"), ("late2", "apply")):
        database.add_decision(compared(name, "lateg", verdict, block_size=3))
    end(database, "lateg", 7.0)
    now = 1e6 + 100
    watch = Watch(lambda: now)
    watch.in_doubt(1, UID)
    watch.look(database)
    assert watch.in_doubt(1, UID)
    end(database, "lateh", 10.0)
    watch.ended("lateh")
    watch.look(database)
    assert watch.in_doubt(1, UID), "one job of the block is still running"
    now = 1e6 + WAIT_S - 1
    watch.look(database)
    assert watch.in_doubt(1, UID)
    now = 1e6 + WAIT_S + OVERDUE_S
    watch.look(database)
    assert not watch.in_doubt(1, UID)
    restarted = Watch(lambda: now)
    restarted.in_doubt(1, UID)
    restarted.look(database)
    assert not restarted.in_doubt(1, UID)


def test_a_block_with_unassigned_places_is_not_counted_yet(database: Database) -> None:
    """This daemon or a replica may still assign a job to the block's other place."""
    for number in range(PAIRS_FIRST - 1):
        pair(database, f"p{number}", 7.0, 10.0)
    database.add_decision(compared("xg", "xg", "apply"))
    watch = watching()
    watch.in_doubt(1, UID)
    end(database, "xg", 7.0)
    watch.ended("xg")
    watch.look(database)
    assert watch.in_doubt(1, UID)
    database.add_decision(compared("xh", "xg", "holdout"))
    end(database, "xh", 10.0)
    watch.ended("xh")
    watch.look(database)
    assert not watch.in_doubt(1, UID)
    watch.ended("xh")
    watch.look(database)
    assert database.compared(1, block="xg")[0].size == 2


def test_a_block_that_is_never_full_is_counted_after_a_limit(database: Database) -> None:
    for number in range(PAIRS_FIRST - 1):
        pair(database, f"p{number}", 7.0, 10.0)
    for name, verdict in (("xg", "apply"), ("xh", "holdout")):
        database.add_decision(compared(name, "xg", verdict, block_size=10))
        end(database, name, 8.0)
    for now, doubt in ((1e6 + FILL_S - 1, True), (1e6 + FILL_S, False)):
        watch = watching(now)
        watch.in_doubt(1, UID)
        watch.look(database)
        assert watch.in_doubt(1, UID) is doubt


def test_a_new_record_whose_jobs_do_not_end_is_in_doubt_for_a_limited_number_of_jobs(
    database: Database,
) -> None:
    watch = watching()
    watch.in_doubt(1, UID)
    watch.look(database)
    for _ in range(JOBS_FIRST):
        assert watch.in_doubt(1, UID)
        watch.dealt(1, UID)
    assert not watch.in_doubt(1, UID)
    for number in range(JOBS_FIRST // 2):
        pair(database, f"p{number}", None, None)
    restarted = watching()
    restarted.in_doubt(1, UID)
    restarted.look(database)
    assert not restarted.in_doubt(1, UID)


def test_only_the_block_of_a_job_that_ended_is_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of `look` reads only the blocks of jobs that ended since the previous call."""
    for number in range(50):
        pair(database, f"p{number}", 7.0, None)
    watch = watching()
    watch.in_doubt(1, UID)
    watch.look(database)
    read: list[str | None] = []
    original = database.compared

    def counted(record_id: int, *, block: str | None = None, **how: Any) -> Sequence[Compared]:
        read.append(block)
        return original(record_id, block=block, **how)

    monkeypatch.setattr(database, "compared", counted)
    end(database, "p7h", 10.0)
    watch.ended("p7h")
    watch.look(database)
    assert read == ["p7g"]


def test_a_restarted_watch_reads_the_latest_jobs_and_the_number_of_earlier_blocks(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(PAIRS_FIRST + 10):
        pair(database, f"p{number:02}", 7.0, None if number == 5 else 10.0)
    monkeypatch.setattr("reprise.matcher.daemon.quarantine_watch.LATEST", 11)
    found = database.lately_compared_of(1, UID, 11)
    assert [one.block for one in found.latest[::2]] == [f"p{number}g" for number in range(25, 30)], "whole blocks"
    assert (len(found.latest), found.jobs, found.blocks_before) == (10, 60, 25)
    assert database.lately_compared_of(1, UID, 60).latest == database.lately_compared(1, 60) == database.compared(1)
    watch = watching()
    watch.in_doubt(1, UID)
    watch.look(database)
    assert not watch.in_doubt(1, UID), "the record has enough earlier jobs"
    end(database, "p05h", 10.0)
    watch.ended("p05h")
    watch.look(database)
    assert (
        not watch.in_doubt(1, UID)
        and record_benefit.production(database.compared(1), 1e6 + 100)["blocks"] == PAIRS_FIRST + 10
    )


def test_a_block_is_found_by_an_index(database: Database) -> None:
    with contextlib.closing(sqlite3.connect(database.path)) as connection:
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN {BLOCK_SQL}", {"record": 1, "block": "b", "since": 0.0}
        ).fetchall()
    assert any("decision_by_block (compared_id=? AND block=?)" in row[3] for row in plan), plan


def test_reports_of_unknown_decisions_and_missing_records_are_ignored(database: Database) -> None:
    watch = watching()
    watch.ended("nobody")
    watch.in_doubt(77, UID)
    watch.look(database)
    assert watch.in_doubt(77, UID)


def test_another_users_report_of_a_decision_is_no_evidence(database: Database) -> None:
    pair(database, "p", None, 10.0)
    told: dict[str, Any] = {"ended_at": 1e6 + 900, "elapsed_s": 900.0, "exit_status": 0, "decision_id": "pg"}
    told["confirmed"] = True
    database.report_end(Outcome("c", 5, None, 4242, "apply", 1e6, **told))
    assert [one.elapsed_s for one in database.compared(1)] == [None, 10.0]
