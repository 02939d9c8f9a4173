# SPDX-License-Identifier: Apache-2.0
"""Test real daemons as primary and replica: records reach the replica; decisions and outcomes reach the primary."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.decisions import DECISION
from reprise.database.entities import RecordStatus
from reprise.database.errors import AccessError, CorruptedError, NotFoundError, SchemaError
from reprise.matcher.daemon.replica import BYTES, batched
from reprise.matcher.errors import MatcherError
from tests.unit.database_values import decision, record
from tests.unit.matcher_daemon import Daemon, mine, request
from tests.waiting import wait_for


@pytest.fixture
def primary(tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "primary").mkdir()
    one = Daemon(tmp_path / "primary", f'publish = "{tmp_path}/records.db"')
    yield one
    one.stop()
    sys.stdout.write(one.text())


@pytest.fixture
def replica(tmp_path: Path, primary: Daemon) -> Iterator[Daemon]:
    (tmp_path / "replica").mkdir()
    own = f'[replica]\nrecords = "{tmp_path}/records.db"\nprimary = ["unix:{primary.socket}"]'
    one = Daemon(tmp_path / "replica", f"uid = {os.getuid()}", own)
    yield one
    one.stop()
    sys.stdout.write(one.text())


def outcome(reply: dict[str, Any], state: str = "ended") -> dict[str, Any]:
    return {
        **{"v": 1, "kind": "outcome", "state": state, "decision": reply["id"], "verdict": reply["verdict"]},
        **{"applied": len(reply["env"]), "elapsed_s": 1.5, "exit_status": 0},
        "job": {"id": 4711, "array_task": None, "uid": os.getuid(), "cluster": "test"},
    }


def known(daemon: Daemon, reply: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return a reply's decision with its outcomes from the daemon's database, or None if it is not stored there."""
    with Database.open(daemon.database, read_only=True) as database:
        try:
            found = database.decision(reply["id"])
        except NotFoundError:
            return None
        return found, database.outcomes_of_decision(found)


def both(primary: Daemon, replica: Daemon) -> dict[str, Any]:
    """Start both daemons, wait until the replica has the primary's record, and return the replica's next reply."""
    primary.add(mine())
    primary.start()
    replica.start()
    wait_for("records at the replica", lambda: replica.ask(request(mode="observe"))["record"] == 1)
    return replica.ask(request())


@pytest.mark.slow
def test_a_replica_answers_with_the_primarys_records_and_forwards_the_jobs_outcome(
    primary: Daemon, replica: Daemon
) -> None:
    reply = both(primary, replica)
    assert reply["verdict"] == "apply"
    replica.ask(outcome(reply, "started"))
    replica.ask(outcome(reply))

    def told() -> bool:
        there = known(primary, reply) if primary.log_contains("event=forwarded") else None
        return bool(there and there[1] and there[1][0].elapsed_s)

    wait_for("the outcome at the primary", told)
    there, here = known(primary, reply), known(replica, reply)
    assert there and here and there[0] == here[0]
    (one,), (other,) = there[1], here[1]
    assert (one.elapsed_s, one.started_at, one.exit_status) == (other.elapsed_s, other.started_at, 0)

    def nothing_waits() -> bool:
        with Database.open(replica.database, read_only=True) as database:
            return database.oldest_out(1) == []

    wait_for("the removal of forwarded messages at the replica", nothing_waits)


@pytest.mark.slow
def test_the_primary_quarantines_a_record_that_harms_jobs_of_a_replica(primary: Daemon, replica: Daemon) -> None:
    """Jobs end one after the other, so the primary receives the reports of a block's two jobs separately."""
    for one in (primary, replica):
        one.config.write_text(one.config.read_text().replace("holdout = 0.0", "holdout = 0.1"))
    both(primary, replica)

    def quarantined() -> bool:
        with Database.open(primary.database, read_only=True) as database:
            return [one.uid for one in database.user_quarantines(1)] == [os.getuid()]

    def none_is_left() -> bool:
        with Database.open(replica.database, read_only=True) as database:
            return database.oldest_out(1) == []

    for number in range(60):
        reply = replica.ask(request())
        if reply["verdict"] not in ("apply", "holdout"):
            break
        seconds = (20.0 if reply["verdict"] == "apply" else 10.0) * (1 + number % 7 / 50)
        job = {"id": number, "array_task": None, "uid": os.getuid(), "cluster": "test"}
        replica.ask({**outcome(reply), "elapsed_s": seconds, "job": job})
        if number % 10 == 9:
            wait_for("all messages at the primary", none_is_left)
    wait_for("the quarantine for this user", quarantined)
    wait_for("the quarantine at the replica", lambda: replica.ask(request())["verdict"] == "none")


@pytest.mark.slow
def test_decisions_made_while_the_primary_is_down_are_forwarded_later(primary: Daemon, replica: Daemon) -> None:
    both(primary, replica)
    assert primary.process
    os.kill(primary.process.pid, 9)
    primary.process.wait()
    reply = replica.ask(request())
    assert reply["verdict"] == "apply"
    replica.ask(outcome(reply))
    replica.wait_log("event=background-failed work=replica error=.*no matcher answers")
    replica.stop()  # waiting messages are kept
    primary.start()
    replica.start()
    wait_for("the decision at the primary", lambda: primary.log_contains("event=forwarded"))
    wait_for("its outcome", lambda: bool((known(primary, reply) or (None, ()))[1]))


@pytest.mark.slow
def test_a_records_new_status_reaches_the_replica(primary: Daemon, replica: Daemon) -> None:
    both(primary, replica)
    with Database.open(primary.database) as database:
        database.set_record_status(1, RecordStatus.QUARANTINED, at=1.0, reason="slow")
    wait_for("the replica to give nothing", lambda: replica.ask(request())["verdict"] == "none")
    with Database.open(replica.database, read_only=True) as database:
        assert (database.record(1).status, database.record(1).status_reason) == (RecordStatus.QUARANTINED, "slow")


@pytest.mark.slow
def test_a_missing_copy_is_logged_in_one_line_and_jobs_are_answered(replica: Daemon) -> None:
    replica.start()
    replica.wait_log("event=background-failed work=replica error=.*records.db: cannot be read .*set .matcher. publish")
    assert replica.ask(request())["verdict"] == "none"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to act as another user")
def test_only_the_matchers_own_user_may_forward(place: Path) -> None:
    daemon = Daemon(place)
    daemon.start()
    child = os.fork()
    if child == 0:
        try:
            os.setuid(65534)
            reply = daemon.ask({"v": 1, "kind": "forward", "entries": []})
            os._exit(0 if reply["kind"] == "error" and "only root" in reply["reason"] else 1)
        except (OSError, MatcherError):
            os._exit(2)
    status = os.waitpid(child, 0)[1]
    daemon.stop()
    assert os.waitstatus_to_exitcode(status) == 0


def test_forwarded_nonsense_is_refused_or_dropped_and_nothing_else_is_lost(daemon: Daemon) -> None:
    daemon.start()
    refused = daemon.ask({"v": 1, "kind": "forward", "entries": [{"kind": "trial", "row": {}}]})
    assert refused["kind"] == "error" and "forward.entries.0.kind" in refused["reason"]
    nonsense = {"kind": "decision", "row": {"id": "x"}}, {"kind": "outcome", "state": "ended", "row": {"job_id": "x"}}
    assert daemon.ask(forward(*nonsense, sent("whole")))["kind"] == "ok", (
        "an error would make the replica send it again forever"
    )
    assert daemon.log_contains("event=refused-row")
    assert known(daemon, {"id": "whole"}), "the valid decision in the same message is stored"
    reply = daemon.ask(request())
    wait_for("a later decision", lambda: known(daemon, reply) is not None)


def forward(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"v": 1, "kind": "forward", "entries": list(entries)}


def sent(name: str) -> dict[str, Any]:
    return {"kind": "decision", "row": DECISION.encode(decision(name, at=time.time()))}


@pytest.mark.slow
def test_an_acknowledged_row_survives_an_immediate_kill_of_the_primary(daemon: Daemon) -> None:
    for name in ("a", "b", "c", "d"):
        daemon.start()
        assert daemon.ask(forward(sent(name)))["kind"] == "ok"
        assert daemon.process
        os.kill(daemon.process.pid, 9)
        daemon.process.wait()
        assert known(daemon, {"id": name})


@pytest.mark.slow
def test_a_primary_that_cannot_write_asks_for_the_row_again(daemon: Daemon) -> None:
    daemon.start()
    with sqlite3.connect(daemon.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        reply = daemon.ask(forward(sent("a")), timeout_s=10)
        assert reply["kind"] == "error" and "send the request again" in reply["reason"]
        other.execute("ROLLBACK")
    other.close()
    assert daemon.ask(forward(sent("a")))["kind"] == "ok"
    assert known(daemon, {"id": "a"})


# -- without daemons --------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database.open(tmp_path / "a.db", create=True)


def test_a_published_copy_is_complete_and_not_readable_by_everyone(database: Database, tmp_path: Path) -> None:
    database.add_records([record(), record(status=RecordStatus.RETIRED)])
    database.add_decision(decision("secret", record_id=1))
    path = tmp_path / "records.db"
    assert database.publish_records(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and list(tmp_path.glob(".records*")) == []
    assert b"secret" not in path.read_bytes()
    with Database.open(tmp_path / "b.db", create=True) as other:
        assert other.take_published(path, path.read_bytes()) == 2
        assert other.take_published(path, path.read_bytes()) == 0, "nothing is new"
        assert list(other.records(status=None)) == list(database.records(status=None))
        change = other.last_record_change()
        database.set_record_status(1, RecordStatus.QUARANTINED, at=5.0)
        database.publish_records(path)
        assert other.take_published(path, path.read_bytes()) == 1
        assert other.last_record_change() == change + 1


def test_records_that_are_not_published_are_retired(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    database.publish_records(path)
    with Database.open(tmp_path / "b.db", create=True) as other:
        other.add_record(record())
        assert other.take_published(path, path.read_bytes()) == 1
        assert other.record(1).status is RecordStatus.RETIRED


@pytest.mark.parametrize("data", [b"", b"no database", b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_copy_is_refused_by_name(database: Database, tmp_path: Path, data: bytes) -> None:
    database.add_record(record())
    with pytest.raises((CorruptedError, SchemaError), match=r"records\.db: "):
        database.take_published(tmp_path / "records.db", data)
    assert database.record(1).status is RecordStatus.ACTIVE


def test_a_copy_that_cannot_be_written_is_reported_in_one_line(database: Database) -> None:
    with pytest.raises(AccessError, match=r"/nowhere/records.db: records cannot be published there"):
        database.publish_records(Path("/nowhere/records.db"))


def test_a_replicas_decision_is_stored_once_and_without_a_missing_record(database: Database) -> None:
    row = DECISION.encode(decision("d1", record_id=77))
    database.take_decision_row(row)
    database.take_decision_row({**row, "reason": "again"})
    assert (database.decision("d1").record_id, database.decision("d1").reason) == (None, "nothing is like it")


def test_messages_are_sent_in_order_and_in_requests_within_the_limit() -> None:
    waiting = [(number, json.dumps({"n": number, "text": "x" * 90_000})) for number in range(1, 6)]
    last, sent, _ = batched(waiting)
    assert last == 2 and [one["n"] for one in sent["entries"]] == [1, 2]
    too_long = json.dumps("x" * BYTES)
    one = {"v": 1, "kind": "forward", "entries": [1]}
    assert batched([(9, too_long), (10, "1")]) == (10, one, [len(too_long) + 1]), (
        "the sizes of messages that are too long to send are returned"
    )
