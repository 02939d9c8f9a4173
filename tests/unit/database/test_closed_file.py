# SPDX-License-Identifier: Apache-2.0
"""Test that the database's group cannot open its files.

A member who can open the files can lock them, which blocks all writes.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.database.backup import back_up, take_snapshot
from reprise.database.errors import AccessError, BusyError
from tests.unit.database_values import decision

MEMBER, GROUP = 65533, 65532
AS_MEMBER = "import os, sys; os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[2]))\n"
# Takes shared locks on the byte with which a writer excludes other writers (SQLite's WAL_WRITE_LOCK, byte 120), and on
# the following bytes, which are for checkpoints and readers.
LOCK = """
import fcntl
held = 0
for name, first, count in ((sys.argv[3] + "-shm", 120, 8), (sys.argv[3], 1073741824, 512)):
    try:
        file = os.open(name, os.O_RDONLY)
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, count, first)
        held += 1
    except OSError as error:
        print(f"{os.path.basename(name)}: {error.strerror}", end="; ")
print("held", held, flush=True)
sys.stdin.read()
"""

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to switch to another user")


@contextmanager
def locking(path: Path) -> Iterator[str]:
    """As a member of the database's group, run a process that locks every file it can open; yield its output."""
    process = subprocess.Popen(
        [sys.executable, "-c", AS_MEMBER + LOCK, str(GROUP), str(MEMBER), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield process.stdout.readline()
    finally:
        process.communicate()


def to_group(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        if (part := Path(f"{path}{suffix}")).exists():
            os.chown(part, -1, GROUP)


def modes(path: Path) -> set[int]:
    return {stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob(f"{path.name}*")}


@root_only
def test_a_member_of_the_group_can_neither_open_nor_lock_the_database(place: Path) -> None:
    path = place / "reprise.db"
    with Database.open(path, create=True, busy_timeout_s=0.1) as database:
        database.add_decision(decision("d-1"))
        to_group(path)
        with locking(path) as said:
            assert "held 0" in said
            database.add_decision(decision("d-2"))


@root_only
def test_a_reader_of_an_open_file_would_stop_every_write(place: Path) -> None:
    """Check that the lock works; otherwise the test above could pass although nothing was locked."""
    path = place / "reprise.db"
    with Database.open(path, create=True, busy_timeout_s=0.1) as database:
        database.add_decision(decision("d-1"))
        to_group(path)
        for part in place.glob("reprise.db*"):
            part.chmod(0o640)
        with locking(path) as said:
            assert "held 2" in said
            with pytest.raises(BusyError):
                database.add_decision(decision("d-2"))
        database.add_decision(decision("d-2"))


def test_new_and_older_databases_are_closed_to_the_group(place: Path) -> None:
    path = place / "reprise.db"
    with Database.open(path, create=True) as database:
        database.add_decision(decision("d-1"))
        assert modes(path) == {0o600}
        for part in place.glob("reprise.db*"):
            part.chmod(0o644)
        # as `reprise db init` does, which the systemd unit runs before the daemon
        with Database.open(path, create=True):
            assert modes(path) == {0o600}


def test_copies_are_closed_too(place: Path) -> None:
    path, copy = place / "reprise.db", place / "copy.db"
    Database.open(path, create=True).close()
    back_up(path, copy)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


@root_only
def test_the_group_reads_a_snapshot_and_its_locks_block_nothing(place: Path) -> None:
    path, snapshot = place / "reprise.db", place / "snapshot.db"
    with Database.open(path, create=True, busy_timeout_s=0.1) as database:
        database.add_decision(decision("d-1"))
        take_snapshot(path, snapshot)
        assert stat.S_IMODE(snapshot.stat().st_mode) == 0o640
        to_group(snapshot)
        with locking(snapshot) as said:
            assert "held 1" in said
            database.add_decision(decision("d-2"))
            take_snapshot(path, snapshot)
        with Database.open(snapshot, read_only=True) as there:
            assert there.decision("d-2").id == "d-2"


@root_only
def test_a_user_without_database_access_reads_the_snapshot_or_gets_the_remedy(place: Path) -> None:
    path, snapshot = place / "reprise.db", place / "snapshot.db"
    Database.open(path, create=True).close()
    take_snapshot(path, snapshot)
    to_group(snapshot)
    place.chmod(0o755)

    def as_member(snapshot: Path | None) -> str:
        with Database.open_to_read(path, snapshot) as database:
            return str(database.path)

    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(GROUP)
            os.setuid(MEMBER)
            assert as_member(snapshot) == str(snapshot)
            with pytest.raises(AccessError, match=r"runuser -u root -- |database\.snapshot"):
                as_member(None)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert as_member(snapshot) == str(path)
