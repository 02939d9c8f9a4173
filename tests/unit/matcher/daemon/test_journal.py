# SPDX-License-Identifier: Apache-2.0
"""Test a daemon with its database: new records, ordered writes, and failures such as locks, full disks and damage."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.backup import back_up
from reprise.database.decisions import DECISION
from reprise.database.entities import RecordStatus, RecordText
from reprise.database.errors import CorruptedError, StorageError
from reprise.database.for_daemon import DaemonDatabase
from reprise.matcher.daemon.journal import Journal
from reprise.matcher.daemon.pending_writer import BATCH, RETRY_S
from reprise.matcher.daemon.pending_writes import ENTRY_BYTES, Entry, Queue, Unmade
from tests.unit.database_values import decision
from tests.unit.matcher_daemon import Daemon, mine, request
from tests.waiting import wait_for


def logged(daemon: Daemon) -> int:
    with Database.open(daemon.database, read_only=True) as database:
        return database.counts()["decision"]


def decisions(daemon: Daemon) -> set[str]:
    with Database.open(daemon.database, read_only=True) as database:
        return {row["id"] for row in database.raw_rows("decision")}


def ended(daemon: Daemon) -> bool:
    return daemon.process is None or daemon.process.poll() is not None


@pytest.mark.slow
def test_a_record_added_while_serving_is_used_within_two_seconds(daemon: Daemon) -> None:
    daemon.start()
    assert daemon.ask(request())["verdict"] == "none"
    (number,) = daemon.add(mine())
    wait_for("the new record in use", lambda: daemon.ask(request())["verdict"] == "apply", timeout_s=2)
    with Database.open(daemon.database) as database:
        database.set_record_status(number, RecordStatus.QUARANTINED, at=1.0)
    wait_for("a decision without the record", lambda: daemon.ask(request())["verdict"] == "none", timeout_s=2)
    assert "quarantined" in daemon.ask(request())["reason"]


@pytest.mark.slow
def test_the_daemons_own_writes_do_not_make_it_load_the_records_again(daemon: Daemon) -> None:
    daemon.start()
    for _ in range(20):
        daemon.ask(request())
    wait_for("the decisions", lambda: logged(daemon) == 20)
    daemon.signal(signal.SIGHUP)
    daemon.wait_log("event=reloaded")
    wait_for("the reload", lambda: daemon.text().count("event=records") == 2)
    daemon.stop()
    assert daemon.text().count("event=records") == 2


@pytest.mark.slow
def test_a_locked_database_delays_the_journal_but_no_request(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    with sqlite3.connect(daemon.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        replies = [daemon.ask(request(), timeout_s=1) for _ in range(20)]
        assert {reply["verdict"] for reply in replies} == {"apply"}
        daemon.wait_log("event=database-locked", timeout_s=15)
        other.execute("ROLLBACK")
    other.close()
    wait_for("all decisions in the journal", lambda: logged(daemon) == 20)


def test_signals_during_the_last_writes_lose_nothing(daemon: Daemon) -> None:
    daemon.start()
    with sqlite3.connect(daemon.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        daemon.ask(request())
        daemon.signal(signal.SIGTERM)
        wait_for("the end of accepting", lambda: not daemon.pings())
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            daemon.signal(number)
        other.execute("ROLLBACK")
    other.close()
    assert daemon.stop() == 0
    assert logged(daemon) == 1


def test_sigterm_writes_the_whole_queue(daemon: Daemon) -> None:
    daemon.start()
    with sqlite3.connect(daemon.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(50):
            daemon.ask(request())
        daemon.signal(signal.SIGTERM)
        other.execute("ROLLBACK")
    other.close()
    assert daemon.stop() == 0
    assert logged(daemon) == 50


@pytest.mark.slow
def test_a_deleted_database_is_logged_and_a_new_one_gets_the_waiting_writes(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    for path in daemon.database.parent.glob("reprise.db*"):
        path.unlink()
    asked = [daemon.ask(request())["id"]]
    daemon.wait_log("event=database-failed .*reprise db init")
    replies = [daemon.ask(request()) for _ in range(20)]
    assert {reply["verdict"] for reply in replies} == {"apply"}, "the records are still in memory"
    daemon.wait_log("event=writes-wait waiting=.*reprise db init")
    Database.open(daemon.database, create=True).close()
    wait_for("the new, empty database to be used", lambda: daemon.ask(request())["verdict"] == "none")
    asked += [reply["id"] for reply in replies]
    wait_for("the decisions made without a database", lambda: set(asked) <= decisions(daemon))
    assert "event=dropped" not in daemon.text()


SMALL_DISK_MIB = 16  # large enough, because SQLite empties its write-ahead log only at 4 MiB


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a file system")
    mount = tmp_path / "lib"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_MIB}m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting is not permitted here")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


def fill(disk: Path) -> Path:
    """Fill the disk with a file, and return the file."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as out:
        try:
            while out.write(b"\0" * 4096) == 4096:
                pass
        except OSError:
            pass
    return filler


def test_a_full_disk_loses_neither_answers_nor_reports(small_disk: Path, daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    filler = fill(small_disk)
    replies = [daemon.ask(request()) for _ in range(200)]
    assert {reply["verdict"] for reply in replies} == {"apply"}
    daemon.wait_log("event=writes-wait waiting=.*file system is full: make room")
    replies += [daemon.ask(request()) for _ in range(100)]
    job = {"id": 7, "array_task": None, "uid": os.getuid(), "cluster": "test"}
    end = {"state": "ended", "decision": replies[-1]["id"], "verdict": "apply", "applied": 2}
    assert (
        daemon.ask({"v": 1, "kind": "outcome", **end, "elapsed_s": 1.0, "exit_status": 0, "job": job})["kind"] == "ok"
    )
    filler.unlink()
    wait_for("all decisions", lambda: {reply["id"] for reply in replies} <= decisions(daemon))
    with Database.open(daemon.database, read_only=True) as database:
        wait_for("the end of the job", lambda: database.outcomes_of_job("test", 7))
    assert daemon.text().count("event=writes-wait") < 5, "the log has fewer lines than waiting writes"
    assert "event=dropped" not in daemon.text()


def test_a_read_only_database_is_refused_at_the_start(small_disk: Path, daemon: Daemon) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    daemon.spawn()
    assert daemon.process and daemon.process.wait(timeout=30) == 1
    assert daemon.log_contains(r"(?m)^reprise: .*reprise\.db: .*written") and "Traceback" not in daemon.text()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    daemon.start()


def test_a_damaged_database_is_refused_at_the_start(daemon: Daemon) -> None:
    daemon.database.write_bytes(b"not a database at all" * 500)
    daemon.spawn()
    assert daemon.process and daemon.process.wait(timeout=30) == 1
    assert "is not an SQLite database" in daemon.text() and "Traceback" not in daemon.text()


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.02, 0.2, 0.4, 0.55, 0.7, 0.85, 0.99])
def test_one_wrong_byte_in_the_database_fails_no_job(place: float, daemon: Daemon) -> None:
    daemon.add(*(mine(created_at=float(number)) for number in range(60)))
    content = bytearray(daemon.database.read_bytes())
    content[int(place * len(content))] ^= 0xFF
    daemon.database.write_bytes(content)
    daemon.spawn()
    wait_for("an answer, or a refusal", lambda: ended(daemon) or daemon.pings())
    if not ended(daemon):
        assert daemon.ask(request())["verdict"] in ("apply", "none")
        daemon.stop()
    else:
        assert daemon.log_contains(r"(?m)^reprise: .*reprise\.db: .*(damaged|not an SQLite).*$")
    assert "Traceback" not in daemon.text()


@pytest.mark.slow
def test_a_lock_of_ten_seconds_loses_nothing(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    with sqlite3.connect(daemon.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(100):
            daemon.ask(request(), timeout_s=1)
            time.sleep(0.1)
        other.execute("ROLLBACK")
    other.close()
    wait_for("all decisions in the journal", lambda: logged(daemon) == 100)
    assert 1 <= daemon.text().count("event=database-locked") <= 3, "the log has fewer lines than waiting writes"


def test_a_copy_put_in_the_databases_place_is_noticed(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start()
    (tmp_path / "other").mkdir()
    other = Daemon(tmp_path / "other")
    other.add(mine())
    with sqlite3.connect(other.database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    shutil.copy(other.database, tmp_path / "lib" / "new.db")
    for name in ("reprise.db-wal", "reprise.db-shm"):
        (tmp_path / "lib" / name).unlink(missing_ok=True)
    (tmp_path / "lib" / "new.db").rename(daemon.database)
    wait_for("the copy's record in use", lambda: daemon.ask(request())["verdict"] == "apply")


# --- the journal alone


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Database.open(tmp_path / "a.db", create=True).close()
    return tmp_path / "a.db"


def ignore(changed: Iterable[RecordText], gone: Sequence[int], *, all_of_them: bool) -> None:
    for _ in changed:
        pass


def started(path: Path, **changes: Any) -> Journal:
    journal = Journal(path, Queue(), ignore, **{"version": "1", "retention_days": 1, **changes})
    journal.start()
    return journal


def test_the_daemons_run_is_recorded_with_its_end(path: Path) -> None:
    times = iter([100.0, 101.0, 102.0, 103.0])
    started(path, clock=lambda: next(times, 200.0)).stop()
    with Database.open(path) as database:
        run = database.service_run_at(100.0)
    assert run and run.stopped_at and run.version == "1"


def test_a_write_that_fails_unexpectedly_does_not_stop_those_after_it(path: Path) -> None:
    journal = started(path)
    done: list[int] = []
    journal.queue.put(Entry("event=defect", lambda _database: 1 / 0))
    journal.queue.put(Entry("event=good", lambda _database: done.append(1)))
    journal.stop()
    assert done == [1] and journal.queue.dropped == 1


def test_a_write_that_fails_loses_no_other_write_of_its_transaction(path: Path) -> None:
    journal = Journal(
        path, Queue(), ignore, version="1", retention_days=1, clock=lambda: 100.0
    )  # the thread is not started yet, so all entries wait together
    journal.queue.put(Entry("event=first", lambda database: database.add_decision(decision("d-1"))))
    journal.queue.put(Entry("event=again", lambda database: database.add_decision(decision("d-1"))))
    journal.queue.put(Entry("event=last", lambda database: database.add_decision(decision("d-2"))))
    journal.start()
    journal.stop()
    with Database.open(path) as database:
        assert database.counts()["decision"] == 2
    assert journal.queue.dropped == 1


def test_an_entry_that_cannot_be_made_is_dropped_and_counted(path: Path) -> None:
    def defect() -> Entry:
        raise ZeroDivisionError

    journal = started(path)
    journal.queue.put_unmade(Unmade(0, 0, defect))
    journal.stop()
    assert journal.queue.dropped == 1


def test_entries_that_are_not_made_at_the_end_are_made_and_written_in_order(path: Path) -> None:
    journal = started(path, clock=lambda: 100.0)
    for name in "abc":
        row = DECISION.encode(decision(name))
        journal.queue.put_unmade(Unmade(0, 0, partial(Entry, f"event=decision id={name}", decision=row, uid=0)))
    journal.stop()
    assert names(path) == ["a", "b", "c"] and len(journal.queue) == 0


def test_an_entry_waits_until_it_is_committed(path: Path) -> None:
    journal = Journal(path, Queue(), ignore, version="1", retention_days=1, clock=lambda: 100.0)
    seen: list[int] = []
    for _ in range(3):
        journal.queue.put(Entry("event=x", lambda _: seen.append(len(journal.queue))))
    journal.start()
    journal.stop()
    assert seen == [3, 3, 3] and len(journal.queue) == 0


def test_writes_that_wait_together_are_one_transaction(path: Path) -> None:
    journal = Journal(path, Queue(), ignore, version="1", retention_days=1, clock=lambda: 100.0)
    seen: list[int] = []

    def write(database: DaemonDatabase) -> None:
        database.add_decision(decision(f"d-{len(seen)}"))
        with Database.open(path, read_only=True) as other:
            seen.append(other.counts()["decision"])

    for _ in range(3):
        journal.queue.put(Entry("event=x", write))
    journal.start()
    journal.stop()
    assert seen == [0, 0, 0], "the writes are one transaction, so no other connection sees them before its end"
    with Database.open(path) as database:
        assert database.counts()["decision"] == 3


def test_one_bad_decision_among_many_loses_no_other(path: Path) -> None:
    journal = started(path, clock=lambda: 100.0)
    rows = [DECISION.encode(decision(f"d-{number}")) for number in range(100)]
    rows[50]["verdict"] = "perhaps"
    for row in rows:
        journal.queue.put(Entry("event=decision", decision=row))
    journal.stop()
    assert journal.queue.dropped == 1
    with Database.open(path) as database:
        assert database.counts()["decision"] == 99 and database.decision("d-99").user == "alice"


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the journal's pauses between retries."""
    monkeypatch.setattr("reprise.matcher.daemon.pending_writer.RETRY_S", 0.01)
    monkeypatch.setattr("reprise.matcher.daemon.journal.POLL_S", 0.02)


def names(path: Path) -> list[str]:
    """Return the ids of the decisions, in the order in which they were written."""
    with Database.open(path, read_only=True) as database:
        return [row["id"] for row in database.raw_rows("decision")]


def decide(journal: Journal, *ids: str) -> None:
    for name in ids:
        row = DECISION.encode(decision(name))
        journal.queue.put(Entry(f"event=decision id={name}", decision=row))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("content", [None, b"", b"nothing of ours" * 1000])
def test_waiting_writes_are_written_in_order_once_a_missing_or_replaced_file_is_back(
    path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    journal = started(path, clock=lambda: 100.0)
    decide(journal, "a")
    wait_for("the first", lambda: names(path) == ["a"])
    back_up(path, path.with_name("kept.db"))
    other = path.with_name("other.db")
    if content is None:
        path.unlink()
    else:
        other.write_bytes(content)
        other.replace(path)
    decide(journal, "b", "c")
    wait_for("the warning in the log", lambda: "event=writes-wait waiting=" in caplog.text)
    decide(journal, "d")
    path.with_name("kept.db").replace(path)
    wait_for("all of them", lambda: names(path) == ["a", "b", "c", "d"])
    journal.stop()
    assert journal.queue.dropped == 0 and len(journal.queue) == 0
    assert caplog.text.count("event=writes-wait") == 1


def test_a_write_during_the_replacement_of_the_file_is_in_the_new_file(path: Path) -> None:
    """The old file can still be written to after it is unlinked, but such a write would be lost."""
    Database.open(path.with_name("new.db"), create=True).close()
    journal = started(path, clock=lambda: 100.0)

    def write(database: DaemonDatabase) -> None:
        database.add_decision(decision("a"))
        if path.with_name("new.db").exists():
            for log in ("a.db-wal", "a.db-shm"):  # as `reprise db restore` does
                path.with_name(log).unlink()
            path.with_name("new.db").replace(path)

    told: list[int] = []
    journal.queue.put(Entry("event=x", write, written=lambda: told.append(len(names(path)))))
    wait_for("the decision", lambda: told)
    journal.stop()
    assert names(path) == ["a"] and told == [1], "the write is confirmed once, when it is in the file"


def failing(error: Exception, attempts: list[float]) -> Entry:
    def write(_: DaemonDatabase) -> None:
        attempts.append(time.monotonic())
        raise error

    return Entry("event=x", write)


@pytest.mark.slow
def test_writes_to_a_full_disk_are_retried_with_a_pause(path: Path) -> None:
    journal, attempts = started(path), list[float]()
    journal.queue.put(failing(StorageError("full"), attempts))
    wait_for("some attempts", lambda: len(attempts) >= 4)
    assert attempts[3] - attempts[0] >= 3 * RETRY_S
    journal.stop()


def test_writes_that_fail_at_shutdown_are_dropped_counted_and_logged(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = started(path, clock=lambda: 100.0)
    journal.queue.put(failing(StorageError("its file system is full"), []))
    decide(journal, *(f"d{number}" for number in range(BATCH + 10)))
    journal.stop()
    assert (journal.queue.dropped, len(journal.queue)) == (BATCH + 11, 0)
    assert f'event=dropped total={BATCH + 11} error="its file system is full"' in caplog.text


@pytest.mark.usefixtures("eager")
def test_a_write_to_a_damaged_page_is_dropped_once_other_writes_succeed(path: Path) -> None:
    journal, attempts = started(path, clock=lambda: 100.0), list[float]()
    journal.queue.put(failing(CorruptedError("is damaged"), attempts))
    wait_for("a second attempt", lambda: len(attempts) > 2)
    assert (journal.queue.dropped, len(journal.queue)) == (0, 1), (
        "the write waits, because the whole file may be damaged and restored later"
    )
    decide(journal, "a", "b")
    wait_for("the others", lambda: names(path) == ["a", "b"])
    wait_for("the end of the attempts", lambda: len(journal.queue) == 0)
    journal.stop()
    assert journal.queue.dropped == 1


@pytest.mark.usefixtures("eager")
def test_a_forwarded_entry_that_fails_is_refused_and_not_counted_as_dropped(path: Path) -> None:
    journal, told = started(path, clock=lambda: 100.0), list[bool]()
    journal.queue.put(failing(StorageError("full"), []))
    for _ in range(5):
        journal.queue.put(Entry("event=forwarded", lambda _: None, done=told.append))
    wait_for("the answers", lambda: told == [False] * 5)
    assert (journal.queue.dropped, len(journal.queue)) == (0, 1)
    journal.stop()


def test_entries_beyond_the_queues_limit_are_dropped_and_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.matcher.daemon.pending_writes.BACKLOG_BYTES", 3 * ENTRY_BYTES)
    journal = Journal(path, Queue(), ignore, version="1", retention_days=1)  # the thread is not started yet
    for _ in range(5):
        journal.queue.put(Entry("event=x", lambda _database: None))
    assert journal.queue.dropped == 2
    journal.start()
    journal.stop()
    assert journal.queue.dropped == 2


@pytest.mark.slow
def test_rows_older_than_the_retention_are_purged(path: Path) -> None:
    day = 86_400.0
    started(path, clock=lambda: 100 * day).stop()
    started(path, clock=lambda: 102 * day).stop()
    seen: list[int] = []
    journal = started(path, clock=lambda: 102 * day)
    wait_for("the purge", lambda: journal._due["purge"] > 0)
    journal.queue.put(Entry("event=count", lambda database: seen.append(database.counts()["service_run"])))
    journal.stop()
    assert seen == [2], "only the two runs within the retention are left"


@pytest.mark.slow
def test_a_long_purge_lets_writes_through_and_continues(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.matcher.daemon.journal.PURGE_ROWS", 2)
    with Database.open(path) as database, database.transaction():
        for number in range(2000):
            database.add_decision(decision(f"d{number}", at=100.0))
    seen: list[int] = []
    journal = started(path, clock=lambda: 1.7e9)
    wait_for("the purge", lambda: journal._forgotten > 0)
    journal.queue.put(Entry("event=count", lambda database: seen.append(database.counts()["decision"])))
    wait_for("the write", lambda: seen)
    assert 0 < seen[0] < 2000
    wait_for("the end of the purge", lambda: journal._forgetting is None, 60)
    journal.stop()
    with Database.open(path) as database:
        assert database.counts()["decision"] == 0


def test_a_purge_does_not_delay_the_daemons_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.matcher.daemon.journal.PURGE_ROWS", 1)
    with Database.open(path) as database, database.transaction():
        for number in range(2000):
            database.add_decision(decision(f"d{number}", at=100.0))
    journal = started(path, clock=lambda: 1.7e9)
    wait_for("the purge", lambda: journal._forgotten > 0)
    journal.stop()
    with Database.open(path) as database:
        assert 0 < database.counts()["decision"] < 2000 and database.problems() == []


def run_once(path: Path, name: str, at: float) -> None:
    """Run a journal whose clock shows `at` until it has written a decision and purged old rows."""
    journal = started(path, clock=lambda: at)
    journal.queue.put(Entry("event=x", lambda database: database.add_decision(decision(name, at=1.7e9))))
    wait_for("the purge", lambda: journal._due["purge"] > 0)
    journal.stop()
    assert journal.queue.dropped == 0


@pytest.mark.slow
@pytest.mark.parametrize("days", [400, -400])
def test_a_jump_of_the_clock_loses_no_decision(path: Path, days: int) -> None:
    """After a start, the first purge removes only rows that had already expired when a daemon last ran."""
    run_once(path, "before", 1.7e9)
    run_once(path, "meanwhile", 1.7e9 + days * 86_400.0)
    run_once(path, "after", 1.7e9 + 1.0)
    with Database.open(path) as database:
        assert database.counts()["decision"] == 3 and database.problems() == []
