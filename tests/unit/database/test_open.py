# SPDX-License-Identifier: Apache-2.0
"""Test opening a database: which files are created, and the errors for unusable files."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from reprise.database import Database, DatabaseError, errors, filesystem, schema, store
from tests.nobody import as_nobody
from tests.unit.database_values import campaign


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "reprise.db"
    Database.open(file, create=True).close()
    return file


def refused(path: Path, kind: type[DatabaseError], *words: str, **how: bool) -> None:
    with pytest.raises(kind) as caught:
        Database.open(path, busy_timeout_s=0.05, **how)
    message = str(caught.value)
    assert "\n" not in message and str(path) in message
    assert caught.value.exit_status == 1
    for word in words:
        assert word in message


def test_a_new_directory_and_database_are_not_readable_by_others(tmp_path: Path) -> None:
    file = tmp_path / "new" / "reprise.db"
    with Database.open(file, create=True) as database:
        database.add_campaign(campaign())
        assert database.migrated_from == 0
        for name in ("reprise.db", "reprise.db-wal", "reprise.db-shm"):
            assert stat.S_IMODE((file.parent / name).stat().st_mode) & 0o137 == 0, name


def test_writes_are_durable_and_references_are_checked(path: Path) -> None:
    with Database.open(path) as database:
        settings = {name: database._read(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous")}
        assert settings == {"journal_mode": "wal", "synchronous": 2}
        assert database._read("PRAGMA foreign_keys")[0][0] == 1


def test_create_leaves_an_existing_database_unchanged(path: Path) -> None:
    with Database.open(path) as database:
        number = database.add_campaign(campaign())
    with Database.open(path, create=True) as database:
        assert database.migrated_from == database.schema_version() == len(schema.load_migrations())
        assert database.campaign(number).name == "night"


def test_a_database_created_by_root_belongs_to_the_owner_of_its_directory(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    os.chown(place, 65534, 65534)
    Database.open(place / "reprise.db", create=True).close()
    assert (place / "reprise.db").stat().st_uid == 65534
    with as_nobody(), Database.open(place / "reprise.db") as database:
        database.add_campaign(campaign())


def test_reading_by_root_does_not_lock_the_owner_out(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    os.chown(place, 65534, 65534)
    file = place / "reprise.db"
    Database.open(file, create=True).close()
    with Database.open(file, read_only=True) as looker:
        assert looker.campaigns() == []
        with as_nobody(), Database.open(file) as database:
            database.add_campaign(campaign())
        assert len(looker.campaigns()) == 1
    with as_nobody(), Database.open(file) as database:
        database.add_campaign(campaign())


def test_a_missing_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    refused(tmp_path / "none.db", errors.MissingError, "there is no database", "reprise db init")
    assert not list(tmp_path.iterdir())


def test_an_empty_file_is_refused_unless_the_database_is_created(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    refused(tmp_path / "a.db", errors.MissingError, "is empty", "reprise db init")
    with Database.open(tmp_path / "a.db", create=True) as database:
        assert database.schema_version() == len(schema.load_migrations())


def test_a_directory_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, errors.AccessError, "not a regular file")


@pytest.mark.parametrize("create", [False, True])
def test_file_of_another_kind_is_refused_and_kept(tmp_path: Path, create: bool) -> None:
    file = tmp_path / "a.db"
    file.write_text("dear diary, " * 100)
    refused(file, errors.NotADatabaseError, "is not an SQLite database", create=create)
    assert file.read_text() == "dear diary, " * 100


@pytest.mark.parametrize("create", [False, True])
def test_database_of_another_program_is_refused_and_kept(tmp_path: Path, create: bool) -> None:
    file = tmp_path / "a.db"
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE migration (version)")
    before = file.read_bytes()
    refused(file, errors.NotADatabaseError, "another program", create=create)
    assert file.read_bytes() == before


@pytest.mark.parametrize("create", [False, True])
def test_a_newer_schema_is_refused(path: Path, create: bool) -> None:
    with contextlib.closing(sqlite3.connect(path)) as newer:
        newer.execute("INSERT INTO migration VALUES (99, 'from the future', 0)")
        newer.commit()
    refused(path, errors.SchemaError, "newer Reprise", "schema 99", create=create)


@pytest.mark.parametrize("how", [{}, {"read_only": True}, {"create": True}])
def test_a_truncated_file_is_refused(path: Path, how: dict[str, bool]) -> None:
    path.write_bytes(path.read_bytes()[:5000])
    refused(path, errors.CorruptedError, "damaged", "backup", **how)


def test_a_copy_without_its_log_is_old_but_undamaged(path: Path) -> None:
    """A copy made with `cp` while the database is in use lacks the rows in the log, but is undamaged."""
    copy = path.with_name("copy.db")
    with Database.open(path) as database:
        kept = database.add_campaign(campaign())
        database._read("PRAGMA wal_checkpoint(TRUNCATE)")
        database.add_campaign(campaign())
        shutil.copy(path, copy)
    with Database.open(copy) as database:
        assert database.problems() == [] and [one.id for one in database.campaigns()] == [kept]


def test_a_write_during_another_writers_lock_is_refused(path: Path) -> None:
    with Database.open(path) as first, Database.open(path, busy_timeout_s=0.05) as second, first._write():
        with pytest.raises(errors.BusyError, match="locked by another process") as caught:
            second.add_campaign(campaign())
        assert str(path) in str(caught.value)
        assert second.campaigns() == []  # reads do not wait for the lock


def test_a_full_file_system_loses_only_the_refused_write(path: Path) -> None:
    with Database.open(path) as database:
        kept = database.add_campaign(campaign())
        pages = database._read("PRAGMA page_count")[0][0]
        database._read(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(errors.StorageError, match="is full"):
            database.add_campaign(campaign(spec={"text": "x" * 100_000}))
        assert [found.id for found in database.campaigns()] == [kept]


def test_unreadable_and_unwritable_files_are_refused(place: Path) -> None:
    file = place / "reprise.db"
    Database.open(file, create=True).close()
    with as_nobody():
        refused(file, errors.AccessError, "may not be read", read_only=True)
    file.chmod(0o644)
    with as_nobody():
        refused(file, errors.AccessError, "may not be written")
        refused(place / "other.db", errors.AccessError, "cannot be created", create=True)
        with Database.open(file, read_only=True) as database:
            assert database.campaigns() == []


def test_a_file_in_a_directory_without_access_is_refused(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    Database.open(closed / "reprise.db", create=True).close()
    with as_nobody():
        refused(closed / "reprise.db", errors.AccessError, "cannot be examined", read_only=True)
        refused(closed / "deeper" / "reprise.db", errors.AccessError, "cannot be created", create=True)


def test_another_user_reads_while_the_daemon_writes(place: Path) -> None:
    file = place / "reprise.db"
    with Database.open(file, create=True) as daemon:
        daemon.add_campaign(campaign())
        for name in place.iterdir():
            name.chmod(0o644)  # lets the user `nobody` read the files
        with as_nobody(), Database.open(file, read_only=True) as database:
            assert len(database.campaigns()) == 1


def test_read_only_refuses_to_write(path: Path) -> None:
    with Database.open(path, read_only=True) as database, pytest.raises(errors.AccessError, match="readonly"):
        database.add_campaign(campaign())


def test_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "network_type", lambda _: "nfs4")
    refused(tmp_path / "a.db", errors.FileSystemError, "network file system (nfs4)", "database.path", create=True)
    assert not list(tmp_path.iterdir())


MOUNTINFO = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /home rw,relatime shared:5 - nfs4 server:/home rw,addr=10.0.0.1
31 30 0:41 / /home/local\\040disk rw - xfs /dev/sdb rw
32 22 0:42 / /mnt rw - fuse.sshfs alice@host: rw
33 22 0:43 / /mnt/ntfs rw - fuseblk /dev/sdc rw
34 22 0:44 / /scratch rw - ext4 /dev/sdd rw
35 34 0:45 / /scratch rw - lustre mds:/scratch rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/var/lib/reprise.db", "ext4", False),
        ("/home/alice/reprise.db", "nfs4", True),
        ("/homestead/reprise.db", "ext4", False),
        ("/home/local disk/reprise.db", "xfs", False),
        ("/mnt/a", "fuse.sshfs", True),
        ("/mnt/ntfs/a", "fuseblk", False),
        ("/scratch/a", "lustre", True),
    ],
)
def test_the_file_system_of_a_path_is_found(path: str, kind: str, network: bool) -> None:
    assert filesystem.type_of(Path(path), MOUNTINFO) == kind
    assert filesystem.is_network(kind) is network


def test_unreadable_mount_table_refuses_nothing() -> None:
    assert filesystem.type_of(Path("/a"), "garbage\n\n - \n") == ""
    assert filesystem.network_type(Path("/proc/self/no/such")) is None


def _create(path: Path) -> None:
    with Database.open(path, create=True) as database:
        database.add_campaign(campaign())


def test_many_processes_may_create_a_database_at_once(tmp_path: Path) -> None:
    processes = [multiprocessing.Process(target=_create, args=(tmp_path / "reprise.db",)) for _ in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 6
    with Database.open(tmp_path / "reprise.db") as database:
        assert len(database.campaigns()) == 6
        assert database.problems() == []
