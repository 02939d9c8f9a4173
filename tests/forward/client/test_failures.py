# SPDX-License-Identifier: Apache-2.0
"""Test that a program's calls succeed, with the right bytes, whatever a forwarder or a map does."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forward.client import fake_forwarder as nine
from tests.forward.client.conftest import SMALL, Ran, Site
from tests.forward.client.diod import PROGRAM, Diod
from tests.forward.client.fake_forwarder import HOLD, FakeForwarder, Fault, Session, error, message
from tests.waiting import wait_for

BLOCK = 128 << 10
BYTES = 24 * BLOCK
"""Bytes that `subject plain` writes in calls of a block, and then reads."""
IMPATIENT = {"REPRISE_FORWARD_READ_MS": "1000", "REPRISE_FORWARD_WRITE_MS": "1000"}


def play(site: Site, fault: Fault | None, env: dict[str, str] | None = None, message_bytes: int = 65536) -> Ran:
    """Run `subject plain`, which checks each byte, errno and result, with a forwarder that has a fault."""
    with FakeForwarder(site.directory / "fake.sock", site.files, fault, message_bytes) as fake:
        site.map(fake.address)
        ran = site.plain(env)
        ran.reports[0]["seen"] = fake.seen
        return ran


def on(kind: int, reply: Callable[[int], bytes], after: int = 0) -> Fault:
    """Return a fault that replies to requests of a type, except the first `after` ones."""

    def fault(session: Session, got: int, tag: int, fields: bytes) -> bytes | None:
        return reply(tag) if got == kind and session.server.count(kind) > after else None

    return fault


def test_a_forwarder_without_faults_moves_every_byte(site: Site) -> None:
    ran = play(site, None)
    assert ran.total("write_bytes") == ran.total("read_bytes") == BYTES
    assert ran.total("redone_bytes") == ran.total("failures") == 0
    assert ran.reports[0]["seen"].count(nine.TFSYNC) == 1 and ran.reports[0]["seen"].count(nine.TCLUNK) == 2


NONSENSE = {
    "a reply of another type": lambda tag: message(nine.TCLUNK + 1, tag, b""),
    "a reply with another tag": lambda tag: message(nine.TWRITE + 1, tag ^ 256, bytes(4)),
    "a reply of no bytes": lambda _: bytes(11),
    "a size that is too large": lambda _: b"\xff" * 11,
    "more bytes than asked for": lambda tag: message(nine.TWRITE + 1, tag, b"\xff\xff\xff\x7f"),
    "half a reply": lambda tag: message(nine.TWRITE + 1, tag, bytes(4))[:5],
    "the end of the connection": lambda _: nine.GONE,
    "random bytes": lambda tag: random.Random(tag).randbytes(500),  # noqa: S311
    "the same reply twice": lambda tag: message(nine.TWRITE + 1, tag, b"\0\xf0\0\0") * 2,
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_instead_of_a_writes_answer_changes_nothing(site: Site, name: str) -> None:
    check_nonsense(site, name, nine.TWRITE, 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", NONSENSE)
@pytest.mark.parametrize(("kind", "after"), [(nine.TREAD, 5), (nine.TVERSION, 0), (nine.TGETATTR, 0)])
def test_nonsense_instead_of_any_answer_changes_nothing(site: Site, name: str, kind: int, after: int) -> None:
    check_nonsense(site, name, kind, after)


def check_nonsense(site: Site, name: str, kind: int, after: int) -> None:
    ran = play(site, on(kind, NONSENSE[name], after), IMPATIENT)
    assert ran.total("failures") >= 1 or name == "the same reply twice"


@pytest.mark.parametrize(
    "kind", [nine.TATTACH, nine.TWALK, nine.TGETATTR, nine.TLOPEN, nine.TREAD, nine.TWRITE, nine.TCLUNK]
)
def test_an_error_from_a_forwarder_is_not_the_programs(site: Site, kind: int) -> None:
    for after in (0, 2):
        site.empty()
        (site.directory / "fake.sock").unlink(missing_ok=True)
        ran = play(site, on(kind, lambda tag: error(tag, errno.ENOSPC), after))
        assert ran.status == 0


def test_an_fsync_that_a_forwarder_could_not_do_fails_once(site: Site) -> None:
    program = (
        "import os\n"
        "fd = os.open('files/f', os.O_RDWR | os.O_CREAT)\n"
        "os.pwrite(fd, bytes(100000), 0)\n"
        "for _ in range(2):\n"
        "    try: print(os.fsync(fd))\n"
        "    except OSError as problem: print(problem.errno)\n"
    )
    with FakeForwarder(site.directory / "fake.sock", site.files, on(nine.TFSYNC, error)) as fake:
        site.map(fake.address)
        ran = site.run("/usr/bin/python3", "-c", program)
    assert ran.stdout.split() == [str(errno.EIO), "None"]


def test_an_fsync_fails_once_if_the_forwarders_node_may_be_lost(site: Site) -> None:
    """The forwarder does one write, does not answer the next one, and cannot be reached again."""
    program = (
        "import os, sys\n"
        "fd = os.open('files/f', os.O_RDWR | os.O_CREAT)\n"
        "for place in range(2): os.pwrite(fd, bytes(100000), place * 100000)\n"
        "os.rename('fake.sock', 'gone')\n"
        "for _ in range(2):\n"
        "    try: print(os.fsync(fd))\n"
        "    except OSError as problem: print(problem.errno)\n"
    )
    with FakeForwarder(site.directory / "fake.sock", site.files, on(nine.TWRITE, lambda _: HOLD, 2)) as fake:
        site.map(fake.address)
        ran = site.run("/usr/bin/python3", "-c", program, env=IMPATIENT)
    assert ran.stdout.split() == [str(errno.EIO), "None"] and ran.total("write_bytes") >= 100000
    assert (site.files / "f").read_bytes() == bytes(200000)


def test_short_reads_and_writes_are_completed(site: Site) -> None:
    def fault(session: Session, kind: int, tag: int, fields: bytes) -> bytes | None:
        number = len(session.server.seen)
        if kind == nine.TREAD and number % 3 == 0:
            right = session.right(kind, tag, fields)
            return message(nine.TREAD + 1, tag, (1000).to_bytes(4, "little") + right[11:1011])
        if kind == nine.TWRITE and number % 3 == 0:
            return session.right(kind, tag, fields[:12] + (1000).to_bytes(4, "little") + fields[16:1016])
        return None

    ran = play(site, fault)
    assert ran.total("redone_bytes") > 100_000 and ran.total("failures") == 0


def test_replies_may_come_in_any_order(site: Site) -> None:
    waiting: list[bytes] = []

    def fault(session: Session, kind: int, tag: int, fields: bytes) -> bytes | None:
        if kind not in (nine.TREAD, nine.TWRITE):
            return None
        waiting.append(session.right(kind, tag, fields))
        if len(waiting) < 3:  # a call of 128 KiB needs three requests
            return HOLD
        random.Random(len(session.server.seen)).shuffle(waiting)  # noqa: S311
        replies = b"".join(waiting)
        waiting.clear()
        return replies

    ran = play(site, fault)
    assert ran.total("write_bytes") == ran.total("read_bytes") == BYTES
    assert ran.total("redone_bytes") == ran.total("failures") == 0


@pytest.mark.parametrize("message_bytes", [8192, 9999, 20000, 1 << 20, 7000])
def test_a_forwarder_chooses_the_size_of_messages(site: Site, message_bytes: int) -> None:
    ran = play(site, None, message_bytes=message_bytes)
    assert ran.total("redone_bytes") == 0
    assert (ran.total("write_bytes") == BYTES) == (message_bytes >= 8192)


@pytest.mark.parametrize("version", [b"9P2000", b"9P2000.u", b"unknown", b"9P2000.L2", b""])
def test_a_forwarder_of_another_version_is_not_used(site: Site, version: bytes) -> None:
    fields = (65536).to_bytes(4, "little") + len(version).to_bytes(2, "little") + version
    ran = play(site, on(nine.TVERSION, lambda tag: message(nine.TVERSION + 1, tag, fields)))
    assert ran.total("write_bytes") == ran.total("connections") == 0 and ran.total("failures") >= 1


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "after"), [(nine.TREAD, 4), (nine.TWALK, 0), (nine.TWRITE, 4), (nine.TCLUNK, 0)])
def test_a_forwarder_that_stops_answering_is_left(site: Site, kind: int, after: int) -> None:
    started = time.monotonic()
    ran = play(site, on(kind, lambda _: HOLD, after), IMPATIENT)
    assert ran.total("failures") >= 1 and time.monotonic() - started < 20


@pytest.mark.slow
def test_a_write_waits_for_a_slow_forwarder_and_is_not_done_twice(site: Site) -> None:
    """A write must not be redone directly while a forwarder may still do it: it could overwrite a later write."""
    slept: list[int] = []

    def fault(session: Session, kind: int, tag: int, fields: bytes) -> bytes | None:
        if kind == nine.TWRITE and not slept:
            slept.append(tag)
            time.sleep(3)
        return None

    ran = play(site, fault, {"REPRISE_FORWARD_READ_MS": "2000"})
    assert ran.total("redone_bytes") == ran.total("failures") == 0 and ran.total("write_bytes") == BYTES


def test_a_late_write_of_a_broken_connection_does_not_overwrite_a_newer_one(site: Site) -> None:
    """The forwarder sends nonsense, and does the write half a second later."""
    late: list[bytes] = []

    def fault(session: Session, kind: int, tag: int, fields: bytes) -> bytes | None:
        if kind == nine.TWRITE:
            session.connection.sendall(bytes(11))
            time.sleep(0.5)
            late.append(session.right(kind, tag, fields))
            return HOLD
        return None

    program = (
        "import os\n"
        "fd = os.open('files/f', os.O_RDWR | os.O_CREAT)\n"
        "for byte in b'old', b'new': os.pwrite(fd, byte * 20000, 0)\n"
    )
    with FakeForwarder(site.directory / "fake.sock", site.files, fault) as fake:
        site.map(fake.address)
        ran = site.run("/usr/bin/python3", "-c", program, env=SMALL)
        wait_for("the late write", lambda: late or None)
    assert ran.status == 0 and ran.total("redone_bytes") == 60000
    assert (site.files / "f").read_bytes() == b"new" * 20000


def test_another_file_on_the_forwarder_is_not_written(site: Site) -> None:
    def pretend(session: Session, kind: int, tag: int, fields: bytes) -> bytes | None:
        if kind != nine.TATTACH:
            return None
        session.right(kind, tag, fields)
        return message(kind + 1, tag, session.qid(site.files))

    other = site.directory / "other"
    other.mkdir()
    (other / "subject").write_bytes(b"another file")
    with FakeForwarder(site.directory / "fake.sock", other) as fake:  # its directory is not the prefix
        site.map(fake.address)
        ran = site.plain()
        assert ran.total("write_bytes") == 0 and ran.total("failures") >= 1
        fake.fault = pretend
        site.empty()
        ran = site.plain()
        assert ran.total("write_bytes") == 0 and ran.total("other_files") >= 1
    assert (other / "subject").read_bytes() == b"another file"


def test_a_forwarder_that_lies_about_the_file_is_found_out(site: Site) -> None:
    """The forwarder shows the right inode, but reads and writes other bytes, as the clone of a disk would."""

    def lie(session: Session, kind: int, tag: int, fields: bytes) -> bytes | None:
        if kind == nine.TWRITE:
            return message(nine.TWRITE + 1, tag, fields[12:16])
        if kind == nine.TREAD:
            return message(nine.TREAD + 1, tag, fields[12:16] + bytes(int.from_bytes(fields[12:16], "little")))
        return None

    ran = play(site, lie)
    assert ran.total("other_files") == 1 and ran.total("redone_bytes") == BLOCK
    program = (
        "import os, time\n"
        "fd = os.open('files/f', os.O_WRONLY | os.O_CREAT)\n"
        "os.pwrite(fd, b'x' * 100000, 0)\n"
        "os.pwrite(fd, b'y' * 100000, 100000)\n"
    )
    (site.directory / "fake.sock").unlink()
    with FakeForwarder(site.directory / "fake.sock", site.files, lie):
        assert site.run("/usr/bin/python3", "-c", program).status == 0
    assert (site.files / "f").read_bytes() == b"x" * 100000 + b"y" * 100000


# -- diod --


def test_a_write_to_a_forwarder_that_has_died_raises_no_signal(site: Site, diod: Diod) -> None:
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "fd = os.open('files/f', os.O_RDWR | os.O_CREAT)\n"
        "for i in range(3):\n"
        "    assert os.pwrite(fd, bytes([i]) * 300000, i * 300000) == 300000\n"
        "    print(i, flush=True); sys.stdin.readline()\n"
        "assert os.fsync(fd) is None\n"
        "print(all(os.pread(fd, 300000, i * 300000) == bytes([i]) * 300000 for i in range(3)))\n"
    )
    running = subprocess.Popen(
        ["/usr/bin/python3", "-c", program],
        env=site.environment(), cwd=site.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdin and running.stdout and running.stdout.readline() == "0\n"
    diod.kill()
    rest, _ = running.communicate("\n" * 3)
    assert rest.split() == ["1", "2", "True"] and running.returncode == 0


def test_an_fsync_after_the_forwarders_death_is_done_by_its_successor(site: Site, diod: Diod) -> None:
    program = (
        "import os, sys\n"
        "fd = os.open('files/f', os.O_RDWR | os.O_CREAT)\n"
        "os.pwrite(fd, bytes(300000), 0)\n"
        "print('written', flush=True); sys.stdin.readline()\n"
        "print(os.fsync(fd))\n"
    )
    running = subprocess.Popen(
        ["/usr/bin/python3", "-c", program],
        env=site.environment(), cwd=site.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdin and running.stdout and running.stdout.readline() == "written\n"
    diod.kill()
    Path(diod.address).unlink()
    with FakeForwarder(Path(diod.address), site.files) as successor:
        rest, _ = running.communicate("\n")
        assert rest == "None\n" and successor.count(nine.TFSYNC) == 1


def test_a_stopped_forwarder_is_waited_for_by_writes(site: Site, diod: Diod) -> None:
    """A forwarder that continues overwrites nothing that the program wrote in the meantime."""
    running = site.start(site.programs / "mover", site.files / "file", 0, 4, env=SMALL)
    for _ in range(3):
        diod.send(signal.SIGSTOP)
        time.sleep(0.1)  # the time for which it stands still; nothing can be waited for
        diod.send(signal.SIGCONT)
        time.sleep(0.02)
    ran = site.ended(running)
    site.empty()
    assert ran.stdout == site.run_bare(site.programs / "mover", site.files / "file", 0, 4).stdout


FULL = """
import errno, os
fd = os.open("files/f", os.O_RDWR | os.O_CREAT)
done = 0
while True:
    try:
        done += os.write(fd, bytes([done // 300000 % 251 + 1]) * 300000)
    except OSError as problem:
        print(problem.errno == errno.ENOSPC)
        break
print(os.lseek(fd, 0, os.SEEK_CUR) == done, 2_900_000 < done <= 3 << 20)
content = os.pread(fd, done, 0)
print(all(content[at] == at // 300000 % 251 + 1 for at in range(0, done // 300000 * 300000, 1000)))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to mount a small file system")
def test_a_full_disk_is_reported_and_what_was_written_is_there(site: Site) -> None:
    script = (
        "mount -t tmpfs -o size=3m none files\n"
        f"env -u LD_PRELOAD {PROGRAM} -f --no-auth --no-userdb -l $PWD/sock -e $PWD/files -L stderr 2>/dev/null &\n"
        "until test -S sock; do sleep 0.01; done\n"
        '/usr/bin/python3 -c "$1"\n'
        "kill $!\n"
    )
    site.map(site.directory / "sock")
    ran = site.run("unshare", "--mount", "/bin/sh", "-e", "-c", script, "sh", FULL)
    assert ran.stdout.split() == ["True"] * 4, ran.stderr
    assert ran.report_of("python3")["write_bytes"] > 2_000_000


# -- maps --


def write_map(site: Site, address: str, owner: int = -1, mode: int = 0o644) -> None:
    site.map(address)
    site.map_file.chmod(mode)
    if owner >= 0:
        os.chown(site.map_file, owner, -1)


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("reprise-forwarders 1\n{}\n", True),
        ("reprise-forwarders 1\n{}", False),
        ("reprise-forwarders 1\n", False),
        ("reprise-forwarders 2\n{}\n", False),
        ("", False),
        ("reprise-forwarders 1\n{}\n" + "10.0.0.1:1\n" * 6000, False),
        ("reprise-forwarders 1\n/nowhere\n", False),
        ("reprise-forwarders 1\n127.0.0.1:9\n", False),
    ],
)
def test_a_map_with_a_mistake_means_no_forwarder(site: Site, diod: Diod, text: str, used: bool) -> None:
    site.map_file.write_text(text.format(diod.address))
    assert (site.plain().total("write_bytes") > 0) == used


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646, 0o644])
def test_a_map_that_others_can_write_is_not_trusted(site: Site, diod: Diod, mode: int) -> None:
    write_map(site, diod.address, mode=mode)
    assert (site.plain().total("write_bytes") > 0) == (mode == 0o644)


def test_a_map_that_is_no_file_is_not_read(site: Site, diod: Diod) -> None:
    real = site.directory / "real"
    site.map_file.rename(real)
    site.map_file.symlink_to(real)
    assert site.plain().total("write_bytes") == 0
    for make in (os.mkfifo, os.mkdir):
        site.map_file.unlink()
        make(site.map_file)
        site.empty()
        assert site.plain().total("write_bytes") == 0
    site.map_file.rmdir()
    site.empty()
    assert site.plain().total("forwarders") == -1


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give the map to another user")
def test_a_map_of_another_user_is_trusted_only_if_a_variable_names_the_user(site: Site, diod: Diod) -> None:
    write_map(site, diod.address, owner=65534)
    found = []
    for owner in ("", "65534", "65533"):
        found.append(site.plain({"REPRISE_FORWARD_MAP_OWNER": owner}).total("write_bytes") > 0)
        site.empty()
    assert found == [False, True, False]


def test_a_map_that_appears_and_goes_is_noticed(site: Site, diod: Diod) -> None:
    site.map()
    program = (
        "import os, sys\n"
        "fd = os.open('files/f', os.O_RDWR | os.O_CREAT)\n"
        "for line in sys.stdin:\n"
        "    os.pwrite(fd, bytes(100000), 0)\n"
        "    print(len(os.listdir('/proc/self/fd')), flush=True)\n"
    )
    running = subprocess.Popen(
        ["/usr/bin/python3", "-c", program],
        env=site.environment(SMALL), cwd=site.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdin and running.stdout
    counts = []
    for addresses in ([], [diod.address], [], [diod.address]):
        site.map(*addresses)
        running.stdin.write("\n")
        running.stdin.flush()
        counts.append(int(running.stdout.readline()))
    running.communicate()
    assert counts[1] == counts[0] + 1, "the connection to the forwarder"


def test_nodes_use_different_forwarders(site: Site, diod: Diod) -> None:
    with (
        FakeForwarder(site.directory / "one", site.files) as one,
        FakeForwarder(site.directory / "two", site.files) as two,
    ):
        site.map(one.address, two.address)
        for node in range(4):
            site.empty()
            assert site.plain({"SLURM_NODEID": str(node)}).total("write_bytes") == BYTES
        assert one.count(nine.TATTACH) == two.count(nine.TATTACH) == 2


def test_a_killed_program_leaves_the_forwarder_working(site: Site, diod: Diod) -> None:
    for _ in range(3):
        running = site.start(site.programs / "subject", "handler", site.files / "subject")
        wait_for("the program's file", lambda: (site.files / "subject").exists() or None)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        site.empty()
    assert diod.process and diod.process.poll() is None
    assert site.plain().total("write_bytes") == BYTES
