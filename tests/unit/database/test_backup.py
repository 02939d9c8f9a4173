# SPDX-License-Identifier: Apache-2.0
"""Test that backups can be made while other processes write, and are restored completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import threading
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from reprise.cli.main import LazyGroup, Settings
from reprise.database import Database, schema
from reprise.database.backup import back_up, restore
from reprise.database.entities import CampaignState
from reprise.database.errors import (
    AccessError,
    BusyError,
    CorruptedError,
    DatabaseError,
    NotADatabaseError,
    SchemaError,
    translate_copying,
)
from reprise.database.schema import Migration
from tests.unit.database_values import campaign, decision, record
from tests.unit.matcher_daemon import Daemon, mine, request
from tests.waiting import wait_for

NOW = 1.7e9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "lib/reprise.db"
    with Database.open(file, create=True) as database:
        database.add_record(record())
        database.add_decision(decision("d1", record_id=1))
    return file


def run(daemon: Daemon, *words: str) -> Result:
    db = LazyGroup().get_command(click.Context(click.Command("reprise")), "db")
    assert db is not None
    return CliRunner().invoke(db, list(words), obj=Settings(daemon.config))


def test_a_backup_is_one_file_with_all_rows(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    back_up(path, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["backup.db", "lib"]
    with Database.open(target, read_only=True) as copy, Database.open(path) as database:
        assert copy.problems() == [] and copy.counts() == database.counts()


def test_a_file_is_replaced_only_on_request(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    target.write_text("mine")
    with pytest.raises(AccessError, match=r"backup\.db: already exists: .*--force"):
        back_up(path, target)
    assert target.read_text() == "mine"
    back_up(path, target, overwrite=True)
    assert Database.open(target, read_only=True).counts()["record"] == 1


@pytest.mark.parametrize(
    "name", ["reprise.db", "reprise.db-wal", "reprise.db-shm", "../hard", "../soft", "../soft-wal"]
)
def test_a_backup_never_replaces_the_database(path: Path, tmp_path: Path, name: str) -> None:
    os.link(path, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(path)
    (tmp_path / "soft-wal").symlink_to(f"{path}-wal")
    with Database.open(path) as database:
        database.add_decision(decision("d2"))
        with pytest.raises(AccessError, match="is the database itself, or a part of it: choose another name"):
            back_up(path, path.parent / name, overwrite=True)
        database.add_decision(decision("d3"))
    with Database.open(path) as database:
        assert database.counts()["decision"] == 3 and database.problems() == []


def test_a_backup_never_replaces_a_database_behind_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "soft").symlink_to(path)
    with pytest.raises(AccessError, match="is the database itself"):
        back_up(tmp_path / "soft", path, overwrite=True)


def test_a_device_is_not_replaced_by_a_backup(path: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AccessError, match="pipe: is not a regular file"):
        back_up(path, tmp_path / "pipe", overwrite=True)


@pytest.mark.parametrize(
    ("code", "blamed"),
    [
        (sqlite3.SQLITE_FULL, "b.db"),
        (sqlite3.SQLITE_IOERR_WRITE, "b.db"),
        (sqlite3.SQLITE_READONLY, "b.db"),
        (sqlite3.SQLITE_IOERR_READ, "a.db"),
        (sqlite3.SQLITE_CORRUPT, "a.db"),
        (sqlite3.SQLITE_BUSY, "a.db"),
    ],
)
def test_an_error_in_copying_names_the_file_that_caused_it(code: int, blamed: str) -> None:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    assert str(translate_copying(error, Path("/x/a.db"), Path("/y/b.db"))).split(":")[0].endswith(blamed)


def test_a_backup_is_a_consistent_state_despite_concurrent_writes(path: Path, tmp_path: Path) -> None:
    """Each transaction writes two decisions; a backup must contain both or neither."""
    stop = threading.Event()

    def write() -> None:
        with Database.open(path) as database:
            number = 0
            while not stop.is_set():
                number += 1
                with database.transaction():
                    database.add_decision(decision(f"a{number}"))
                    database.add_decision(decision(f"b{number}"))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            target = tmp_path / f"{number}.db"
            back_up(path, target)
            with contextlib.closing(sqlite3.connect(target)) as copy:
                (pairs,) = copy.execute(
                    "SELECT sum(iif(id GLOB 'a*', 1, -1)) FROM decision WHERE id <> 'd1'"
                ).fetchone()
                assert not pairs
    finally:
        stop.set()
        writer.join()


def test_restore_installs_the_backup_and_keeps_the_old_database(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    back_up(path, target)
    with Database.open(path) as database:
        database.add_decision(decision("d2"))
        kept = restore(path, target, NOW)  # the database's write-ahead log is not empty at this point
    assert kept and kept.name.startswith("reprise.db.20231114-")
    with Database.open(path) as database:
        assert database.counts()["decision"] == 1 and database.problems() == []
    with Database.open(kept) as database:
        assert database.counts()["decision"] == 2


def test_restore_creates_a_database_that_does_not_exist(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    back_up(path, target)
    assert restore(tmp_path / "new.db", target, NOW) is None
    assert Database.open(tmp_path / "new.db").counts()["record"] == 1


def left(path: Path, target: Path) -> None:
    """Copy to `target` what a killed process leaves: a database, and a write-ahead log with the decision `late`."""
    with Database.open(path) as database:
        database.add_decision(decision("late"))
        shutil.copyfile(path, target)
        shutil.copyfile(f"{path}-wal", f"{target}-wal")


def test_rows_in_a_backups_log_are_restored_and_the_backup_is_unchanged(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    left(path, target)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    assert before["backup.db-wal"]
    restore(path, target, NOW)
    with Database.open(path) as database:
        assert database.decision("late") and database.problems() == []
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before
    assert not [file.name for file in path.parent.iterdir() if file.name.startswith(".")]


@pytest.mark.slow
def test_a_replaced_database_can_be_restored_with_its_log(path: Path, tmp_path: Path) -> None:
    """Another connection is reading, so SQLite cannot move the write-ahead log into the file before the restore."""
    back_up(path, tmp_path / "backup.db")
    with Database.open(path) as database, database.one_state():
        database.counts()
        with Database.open(path) as other:
            other.add_decision(decision("late"))
        kept = restore(path, tmp_path / "backup.db", NOW)
    assert kept and kept.with_name(f"{kept.name}-wal").stat().st_size
    restore(path, kept, NOW + 1)
    assert Database.open(path).decision("late")


def test_a_log_of_another_database_prevents_the_restore(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    left(path, target)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE x (a)")
    target.write_bytes((tmp_path / "other.db").read_bytes())
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match=r"backup\.db: "):
        restore(path, target, NOW)
    assert path.read_bytes() == before
    assert not [file.name for file in path.parent.iterdir() if file.name.startswith(".")]


def test_a_leftover_log_is_not_applied_to_the_restored_database(path: Path, tmp_path: Path) -> None:
    back_up(path, tmp_path / "backup.db")
    (tmp_path / "new").mkdir()
    left(path, tmp_path / "new/reprise.db")
    (tmp_path / "new/reprise.db").unlink()
    assert restore(tmp_path / "new/reprise.db", tmp_path / "backup.db", NOW) is None
    assert Database.open(tmp_path / "new/reprise.db").counts()["decision"] == 1


def test_the_log_of_a_replaced_file_is_removed_with_it(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    left(path, target)
    with pytest.raises(AccessError, match="already exists"):
        back_up(path, target)
    target.unlink()
    with pytest.raises(AccessError, match=r"backup\.db-wal: already exists"):
        back_up(path, target)
    back_up(path, target, overwrite=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["backup.db", "lib"]


def newer(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO migration (version, name, applied_at) VALUES (999, 'future', 0)")


def damaged(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096 : 4096 * 3] = os.urandom(4096 * 2)
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "error", "said"),
    [
        (damaged, DatabaseError, "backup.db: is damaged"),
        (newer, SchemaError, "backup.db: a newer Reprise made this database"),
        (
            lambda file: file.write_text("a letter to my mother, of a thousand words" * 100),
            NotADatabaseError,
            "backup.db",
        ),
        (lambda file: file.write_bytes(b""), CorruptedError, "backup.db: is empty"),
        (lambda file: file.unlink(), AccessError, "backup.db: no such file"),
        (lambda file: os.truncate(file, 9000), DatabaseError, "backup.db: "),
    ],
)
def test_an_unsound_backup_changes_nothing(
    path: Path, tmp_path: Path, spoil: object, error: type[DatabaseError], said: str
) -> None:
    target = tmp_path / "backup.db"
    back_up(path, target)
    assert callable(spoil)
    spoil(target)
    before = path.read_bytes()
    with pytest.raises(error) as caught:
        restore(path, target, NOW)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} <= {"reprise.db", "reprise.db-wal", "reprise.db-shm"}


def test_a_damaged_database_is_replaced_and_kept(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    back_up(path, target)
    damaged(path)
    kept = restore(path, target, NOW)
    assert kept and kept.exists() and Database.open(path).counts()["record"] == 1


def test_a_database_that_a_daemon_uses_is_not_replaced(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    back_up(path, target)
    with Database.open(path) as database:
        number = database.begin_service_run("1", NOW - 100)
        database.touch_service_run(number, NOW - 30)
    with pytest.raises(BusyError, match=r"reprise\.db: a daemon used it 30 s ago: stop the daemon, or use --force"):
        restore(path, target, NOW)
    assert restore(path, target, NOW + 100), "it was killed"
    with Database.open(path) as database:
        database.end_service_run(database.begin_service_run("1", NOW), NOW + 1)
    assert restore(path, target, NOW + 2)


def test_a_database_that_a_campaign_writes_to_is_not_replaced_unless_forced(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    with Database.open(path) as database:
        numbers = [database.add_campaign(campaign()) for _ in range(2)]
        back_up(path, target)
        before = path.read_bytes()
        with pytest.raises(
            BusyError, match=r"campaign 1 is running or .*1 more.*`reprise tune stop 1` first.*--force"
        ) as said:
            restore(path, target, NOW)
        assert "\n" not in str(said.value) and path.read_bytes() == before
        for number in numbers:
            database.set_campaign_state(number, CampaignState.STOPPED)
    assert restore(path, target, NOW), "campaigns that run in the backup do not matter"
    assert restore(path, target, NOW + 1, force=True), (
        "with --force, running campaigns in the present file do not matter"
    )


def test_an_older_backup_is_restored_with_the_next_step(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    target = daemon.database.with_name("old.db")
    assert run(daemon, "backup", str(target)).output == f"{target}: a copy of {daemon.database}\n"
    newest = [*schema.load_migrations(), Migration(len(schema.load_migrations()) + 1, "next", "CREATE TABLE x (a);\n")]
    monkeypatch.setattr(schema, "load_migrations", lambda: newest)
    lines = run(daemon, "restore", str(target)).output.splitlines()
    assert lines[0].startswith(f"{daemon.database}: restored from {target}; the old database is ")
    assert lines[1] == "an older Reprise made this backup: run `reprise db init` to upgrade its schema"
    assert "upgraded from schema version" in run(daemon, "init").output


@pytest.mark.slow
def test_a_daemon_continues_with_the_restored_database(daemon: Daemon) -> None:
    target = daemon.database.with_name("backup.db")
    daemon.add(mine())
    daemon.start()
    assert run(daemon, "backup", str(target)).exit_code == 0
    with Database.open(daemon.database) as database:
        database.set_record_status(1, database.record(1).status.RETIRED, at=time.time())
    wait_for("a decision without the record", lambda: daemon.ask(request())["verdict"] == "none")
    assert isinstance(run(daemon, "restore", str(target)).exception, BusyError)
    assert run(daemon, "restore", "--force", str(target)).exit_code == 0
    wait_for("a decision with the record again", lambda: daemon.ask(request())["verdict"] == "apply")
    daemon.wait_log("event=database-reopened")
