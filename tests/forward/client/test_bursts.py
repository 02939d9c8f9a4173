# SPDX-License-Identifier: Apache-2.0
"""Test that programs of a job with a burst buffer behave as without it, although their data are written later."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.forward.client.conftest import Site
from tests.forward.client.diod import PROGRAM, Diod
from tests.forward.client.test_programs import BYTES, CLAIMS, PYTHON, SQLITE, digest
from tests.forward.client.test_sequences import MANY, QUICK, compare
from tests.forward.forwarder.burst_processes import burst_pids, kill_bursts
from tests.forward.forwarder.conftest import program as program  # a fixture
from tests.forward.forwarder.conftest import within
from tests.forward.forwarder.nine import connects
from tests.waiting import wait_for

JOB = "4711"
BURST = {"REPRISE_FORWARD_BURST": "flash", "SLURM_JOB_ID": JOB}
LATER = {"REPRISE_FORWARD_BURST_DESTAGE_AFTER": "60000", "REPRISE_FORWARD_BURST_FLASH_THRESHOLD": "100"}
"""Settings with which data stay in the burst buffer until something waits for them."""


class BurstSite:
    """A site whose job has a burst buffer, with a forwarder that asks for proofs if there is munge, and diod."""

    def __init__(self, site: Site, diod: Diod, program: Path, count: int = 1, munge: Path | None = None) -> None:
        self.site = site
        self.bursts, self.caches = site.directory / "bursts", site.directory / "caches"
        self.munge = munge
        self.forwarders: list[subprocess.Popen[bytes]] = []
        self.addresses = [site.directory / f"clients{number}" for number in range(count)]
        self.commands = [
            self.command(program, diod, address, str(number) if count > 1 else "")
            for number, address in enumerate(self.addresses)
        ]
        self.start()
        site.map(*self.addresses)
        site.settings |= {"LD_PRELOAD": str(site.programs / "libreprise_burst.so"), **BURST, **LATER}

    def command(self, program: Path, diod: Diod, address: Path, place: str) -> list[str]:
        """Create the directories of a forwarder, and return its command."""
        for directory in (self.bursts / place, self.caches / place):
            directory.mkdir(parents=True)
        words = [f"--listen={address}", f"--diod={diod.address}", f"--bursts={self.bursts / place}"]
        words += ["--linger=600", f"--burst-flash={self.caches / place}"]
        return [*within(self.munge), str(program), *words, f"--burst-auth={'munge' if self.munge else 'none'}"]

    def start(self) -> None:
        """Start the forwarders, and wait until they listen."""
        for address, words in zip(self.addresses, self.commands, strict=True):
            with (self.site.directory / "forwarder.log").open("ab") as log:
                self.forwarders.append(subprocess.Popen(words, stderr=log))
            wait_for("the forwarder", connects(address))

    def begin(self, text: str, env: dict[str, str] | None = None, inside: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Start a Python program in the job, and wait until it calls `wait`, which returns when `proceed` is called."""
        words = [*inside, "/usr/bin/python3", "-c", PRELUDE + text]
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=self.site.environment(env), cwd=self.site.directory,
        )  # fmt: skip
        assert process.stdout and process.stdout.readline() == "waits\n"
        return process

    def pids(self) -> list[int]:
        """Return the process ids of all burst buffers."""
        return burst_pids(self.bursts)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to all burst buffers."""
        kill_bursts(self.bursts, number)

    def stop(self) -> None:
        """Kill the forwarders, but not the burst buffers."""
        while self.forwarders:
            forwarder = self.forwarders.pop()
            forwarder.kill()
            forwarder.wait()

    def end(self) -> None:
        self.stop()
        self.kill()
        wait_for("the end of the burst buffers", lambda: not self.pids())


PWRITE64 = {"x86_64": 18, "aarch64": 67}[os.uname().machine]
"""Number of the system call."""

PRELUDE = """
import ctypes, mmap, os, resource, signal, sys
def wait():
    print('waits', flush=True)
    sys.stdin.readline()
libc = ctypes.CDLL(None)
for name in ('fopen', 'fdopen', 'freopen'):
    getattr(libc, name).restype = ctypes.c_void_p
stream_of = ctypes.c_void_p
def bytes_of(stream, count):
    bytes = ctypes.create_string_buffer(count)
    libc.fread(bytes, 1, count, stream_of(stream))
    return bytes.raw
def begin(path='files/f'):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.pwrite(fd, b'o' * 100, 0)  # is compared with what the kernel sees
    os.pwrite(fd, b'n' * 50000, 0)
    return fd
def result(call, *arguments):
    try:
        return call(*arguments)
    except OSError as problem:
        return f'errno {problem.errno}'
"""
"""The beginning of each Python program: functions that it may use."""


def proceed(process: subprocess.Popen[str], timeout: int = 60) -> str:
    """Let a program of `BurstSite.begin` continue to its end, and return what it prints."""
    try:
        return process.communicate("\n", timeout=timeout)[0]
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def burst(site: Site, diod: Diod, program: Path, request: pytest.FixtureRequest) -> Iterator[BurstSite]:
    found = BurstSite(site, diod, program, getattr(request, "param", 1))
    try:
        yield found
    finally:
        found.end()
        sys.stdout.write((site.directory / "forwarder.log").read_text())  # pytest shows it if the test failed


@pytest.fixture
def striped(burst: BurstSite) -> BurstSite:
    """A burst buffer on several forwarders, and a library with small stripes."""
    burst.site.settings["LD_PRELOAD"] = str(burst.site.programs / "striped/libreprise_burst.so")
    return burst


several = pytest.mark.parametrize("burst", [2, 3, 5], indirect=True)
"""Forwarders of a test with `striped`: fewer than a file has at most, and more."""


@pytest.fixture
def bytes_of_input(burst: BurstSite) -> bytes:
    for directory in (burst.site.directory, burst.site.files):
        (directory / "input").write_bytes(BYTES)
    return BYTES


def test_writes_are_delayed_until_the_program_ends(burst: BurstSite, bytes_of_input: bytes) -> None:
    site = burst.site
    script = "dd if=../input of=output bs=100k 2>/dev/null; stat -c %s output; cmp output ../input && echo same"
    ran = site.run("/bin/sh", "-e", "-c", f"cd files; {script}")
    assert (ran.stdout, ran.status) == (f"{len(BYTES)}\nsame\n", 0), ran.stderr
    assert digest(site.files / "output") == hashlib.sha256(bytes_of_input).hexdigest()
    assert ran.total("redone_bytes") == ran.total("other_files") == ran.total("failures") == 0
    (cache,) = burst.caches.iterdir()
    assert ran.total("write_bytes") >= len(BYTES) and cache.name == f"{JOB}.{os.getuid()}"


def test_other_programs_do_not_see_the_data_before_the_end(burst: BurstSite, bytes_of_input: bytes) -> None:
    site = burst.site
    (site.directory / "write.py").write_text(
        "import os, sys\nfile = open('files/output', 'wb', 0)\nfile.write(b'x' * 70000)\n"
        "for _ in range(20):\n    file.write(b'y' * 70000)\n"
        "print('written', flush=True)\nsys.stdin.readline()\nos._exit(0)\n"
    )
    running = subprocess.Popen(
        ["/usr/bin/python3", "write.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=site.environment(),
        cwd=site.directory,
    )
    assert running.stdout and running.stdin
    assert running.stdout.readline() == "written\n"
    seen = (site.files / "output").read_bytes()
    assert len(seen) == 21 * 70000, "the kernel knows the size"
    assert seen[:70000] == b"x" * 70000, "the first write was checked in the file system"
    assert seen[-70000:-1] == b"\0" * 69999, "the last one is delayed"
    checked = site.run("/bin/sh", "-c", "tail -c 70000 files/output | tr -d y | wc -c")
    assert checked.stdout == "0\n", "a program of the same job sees it"
    running.stdin.write("\n")
    running.communicate(timeout=30)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_program_sees_what_it_sees_without_the_library(burst: BurstSite, claim: str) -> None:
    burst.site.subject(claim)


@pytest.mark.parametrize("mode", ["ram", "flash"])
def test_operations_give_the_same_results(burst: BurstSite, mode: str) -> None:
    burst.site.settings["REPRISE_FORWARD_BURST"] = mode
    ran = compare(burst.site, QUICK)
    assert ran.total("write_bytes") > 0 and ran.total("failures") == ran.total("other_files") == 0


@pytest.mark.slow
def test_many_operations_give_the_same_results(burst: BurstSite) -> None:
    compare(burst.site, MANY // 4)


@pytest.mark.parametrize("burst", [3], indirect=True)
def test_operations_on_stripes_give_the_same_results(striped: BurstSite) -> None:
    ran = compare(striped.site, QUICK)
    assert ran.total("write_bytes") > 0 and ran.total("failures") == ran.total("other_files") == 0
    assert ran.total("connections") == len(striped.forwarders)


@pytest.mark.slow
@several
def test_many_operations_on_stripes_give_the_same_results(striped: BurstSite) -> None:
    compare(striped.site, MANY // 16)


@pytest.mark.slow
@pytest.mark.parametrize("burst", [3], indirect=True)
@pytest.mark.parametrize("claim", CLAIMS)
def test_with_stripes_a_program_sees_what_it_sees_without_the_library(striped: BurstSite, claim: str) -> None:
    striped.site.subject(claim)


def kill(burst: BurstSite, count: int, pause_s: float = 0) -> None:
    def disturb() -> None:
        burst.kill()
        time.sleep(pause_s)

    ran = compare(burst.site, count, disturb)
    assert ran.total("failures") > 0
    assert "failed" not in (burst.site.directory / "forwarder.log").read_text()


def test_operations_give_the_same_results_when_burst_buffers_are_killed(burst: BurstSite) -> None:
    kill(burst, 4)


@pytest.mark.slow
def test_many_operations_give_the_same_results_when_burst_buffers_are_killed(burst: BurstSite) -> None:
    kill(burst, 12)


@pytest.mark.slow
@pytest.mark.parametrize("burst", [3], indirect=True)
def test_operations_on_stripes_give_the_same_results_when_burst_buffers_are_killed(striped: BurstSite) -> None:
    kill(striped, 3, 0.2)  # so long that several burst buffers start, and a call ends


@pytest.mark.parametrize("burst", [3], indirect=True)
def test_the_stripes_of_a_file_take_turns_among_the_forwarders(burst: BurstSite) -> None:
    data = hashlib.shake_256(b"").digest(12 << 20)
    (burst.site.directory / "input").write_bytes(data)
    ran = burst.site.run("/bin/dd", "if=input", "of=files/f", "bs=3M")
    assert ran.total("connections") == 3 and ran.total("write_bytes") == len(data)
    assert (burst.site.files / "f").read_bytes() == data


@pytest.mark.parametrize("program_text", [PYTHON, SQLITE], ids=["python", "sqlite"])
def test_python_and_sqlite_read_what_they_wrote(burst: BurstSite, bytes_of_input: bytes, program_text: str) -> None:
    site = burst.site
    ran = site.run("/bin/sh", "-c", f"cd files; exec /usr/bin/python3 -c '{program_text}'")
    assert (ran.status, ran.stderr) == (0, "")


def test_programs_after_one_another_see_the_same_files(burst: BurstSite, bytes_of_input: bytes) -> None:
    site = burst.site
    steps = [
        "dd if=input of=a bs=1M 2>/dev/null",
        "dd if=input of=a bs=64k seek=3 count=4 conv=notrunc 2>/dev/null",
        "cat a > b",
        "truncate -s 2000000 b; cat input >> b",
        "mv b c; gzip -c c | gunzip > d",
        "sha256sum d; sha256sum c; stat -c %s c d; rm c; ls",
    ]
    script = f"cd files; {'; '.join(steps)}"
    ran = site.run("/bin/sh", "-e", "-c", script)
    site.empty()
    (site.files / "input").write_bytes(bytes_of_input)
    bare = site.run_bare("/bin/sh", "-e", "-c", script)
    assert (ran.stdout, ran.stderr, ran.status) == (bare.stdout, bare.stderr, 0)


@pytest.mark.parametrize(
    ("last", "settings"),
    [
        ("os.fsync(file.fileno())", {}),
        ("file.close()", {"REPRISE_FORWARD_BURST_CLOSE": "wait"}),
        ("os.rename('files/output', 'files/other'); os.rename('files/other', 'files/output')", {}),
        ("os.chmod('files/output', 0o755)", {}),
        ("os.execvp('env', 'env -u LD_PRELOAD sha256sum files/output'.split())", {}),
    ],
    ids=["fsync", "close", "rename", "chmod", "exec"],
)
def test_data_are_in_the_file_system_after(
    burst: BurstSite, bytes_of_input: bytes, last: str, settings: dict[str, str]
) -> None:
    site = burst.site
    (site.directory / "write.py").write_text(
        "import os\nfile = open('files/output', 'wb', 0)\nfile.write(b'x' * 70000)\n"
        f"file.write(open('input', 'rb').read())\n{last}\n"
        "os.system('env -u LD_PRELOAD sha256sum files/output')\n"
    )
    ran = site.run("/usr/bin/python3", "write.py", env=settings)
    assert ran.stdout.split()[0] == hashlib.sha256(b"x" * 70000 + bytes_of_input).hexdigest()


def test_a_process_that_is_killed_leaves_its_data_to_the_burst_buffer(burst: BurstSite, bytes_of_input: bytes) -> None:
    site = burst.site
    (site.directory / "write.py").write_text(
        "import os\nfile = open('files/output', 'wb', 0)\nfile.write(open('input', 'rb').read())\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ran = site.run("/usr/bin/python3", "write.py", env={"REPRISE_FORWARD_BURST_DESTAGE_AFTER": "500"})
    assert ran.status == -signal.SIGKILL
    wait_for("the data", lambda: (site.files / "output").read_bytes() == bytes_of_input, 20)


def test_without_burst_buffers_the_job_is_only_forwarded(site: Site, diod: Diod) -> None:
    site.settings |= {"LD_PRELOAD": str(site.programs / "libreprise_burst.so"), **BURST}
    ran = site.subject("plain")
    assert ran.total("write_bytes") > 0 and ran.total("failures") == 0


def test_without_forwarder_the_job_runs_directly(site: Site, programs: Path) -> None:
    site.settings |= {"LD_PRELOAD": str(programs / "libreprise_burst.so"), **BURST, "REPRISE_FORWARD_WRITE_MS": "200"}
    site.map(site.directory / "nobody")
    assert site.subject("plain").total("write_bytes") == 0


def test_nothing_is_left_to_do_after_a_clean_end(burst: BurstSite) -> None:
    burst.site.subject("plain")
    (cache,) = burst.caches.iterdir()
    burst.kill(signal.SIGTERM)
    wait_for("the end", lambda: not burst.pids())
    assert {path.name for path in cache.iterdir()} <= {"lock"}
    shutil.rmtree(cache)


@pytest.mark.parametrize(
    "text",
    [
        "stream = libc.fopen(b'/dev/null', b'r'); libc.freopen(b'files/f', b'w', stream_of(stream)); os.fsync(fd)\n"
        "print(os.path.getsize('files/f') == 0)",
        "print(bytes_of(libc.fdopen(before, b'r'), 10) == b'n' * 10)",
        "os.lseek(fd, 0, 0); libc.dprintf(fd, b'hello'); os.fsync(fd); print(os.pread(fd, 5, 0) == b'hello')",
        "os.posix_spawn('/bin/true', ['true'], {}, file_actions=[\n"
        "    (os.POSIX_SPAWN_OPEN, 1, 'files/f', os.O_WRONLY | os.O_TRUNC, 0)]); os.wait(); os.fsync(fd)\n"
        "print(os.path.getsize('files/f') == 0)",
        "bytes = bytearray(10); os.preadv(fd, [bytes], 0, os.RWF_HIPRI); print(bytes == b'n' * 10)",
        "os.pwritev(fd, [b'z' * 10], 0, os.RWF_DSYNC); print(os.pread(fd, 10, 0) == b'z' * 10)",
        "libc.mmap.restype = ctypes.c_void_p\n"
        "at = libc.mmap(None, ctypes.c_size_t(3 << 30), 3, 0x4022, -1, ctypes.c_long(0))\n"
        "vector = (ctypes.c_size_t * 2)(at, 3 << 30)\n"
        "print(libc.preadv(fd, vector, 1, ctypes.c_long(0)) == 50000 and ctypes.string_at(at, 10) == b'n' * 10)",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (17000, 20000)); os.dup2(fd, 16500)\n"
        "print(os.pread(16500, 10, 0) == b'n' * 10)",
        "stream = libc.fopen(b'files/s', b'w+'); libc.fwrite(b's' * 70000, 1, 70000, stream_of(stream))\n"
        "if os.fork() == 0:\n"
        "    libc.fseek(stream_of(stream), ctypes.c_long(100), 0)\n"
        "    print(bytes_of(stream, 10) == b's' * 10, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()",
        "pages = mmap.mmap(fd, 8192)\n"
        "if os.fork() == 0:\n"
        "    os.pwrite(fd, b'y' * 10, 0); os.pwrite(fd, b'z' * 10, 0); print(pages[:10] == b'z' * 10, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()",
    ],
    ids=[
        *("freopen", "fdopen", "dprintf", "posix_spawn", "preadv2", "pwritev2", "3 GB"),
        *("high descriptor", "forked stream", "forked mapping"),
    ],
)  # fmt: skip
def test_calls_that_the_kernel_does_itself_see_delayed_data(burst: BurstSite, text: str) -> None:
    opened = "before = os.open('files/f', os.O_RDWR | os.O_CREAT, 0o644)\nfd = begin()\n"
    ran = burst.site.run("/usr/bin/python3", "-c", f"{PRELUDE}{opened}{text}")
    assert (ran.stdout, ran.stderr) == ("True\n", "")


EXECUTES = """
import subprocess
data = open('/bin/true', 'rb').read()
for _ in range(10):
    fd = os.open('files/program', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(fd, data[:100])
    os.write(fd, data[100:])
    {}
    print(result(lambda: subprocess.run(['files/program']).returncode))
    os.unlink('files/program')
"""


@pytest.mark.parametrize("close", ["return", "wait"])
@pytest.mark.parametrize("mode", ["ram", "flash"])
@pytest.mark.parametrize(
    "ends",
    [
        "os.close(fd); os.chmod('files/program', 0o755)",
        "os.fchmod(fd, 0o755); os.close(fd)",
        "os.close(fd); os.chmod('files/program', 0o755); os.rename('files/program', 'files/p'); "
        "os.rename('files/p', 'files/program')",
        "os.close(fd); os.system('chmod +x files/program')",
    ],
    ids=["chmod", "fchmod", "rename", "other process"],
)
def test_a_program_that_was_just_written_can_be_executed(burst: BurstSite, ends: str, mode: str, close: str) -> None:
    settings = {"REPRISE_FORWARD_BURST": mode, "REPRISE_FORWARD_BURST_CLOSE": close}
    ran = burst.site.run("/usr/bin/python3", "-c", PRELUDE + EXECUTES.format(ends), env=settings)
    assert (ran.stdout, ran.stderr) == ("0\n" * 10, "")


def test_a_shell_compiles_and_executes(burst: BurstSite) -> None:
    script = (
        "cd files; printf 'int main(void) { return 7; }' > p.c; printf '#!/bin/sh\nexit 5\n' > s; chmod +x s\n"
        "for i in 1 2 3; do cc -o p p.c; ./p; echo $?; ./s; echo $?; cp p q; ./q; echo $?; rm p q; done"
    )
    ran = burst.site.run("/bin/sh", "-c", script)
    assert (ran.stdout, ran.stderr) == ("7\n5\n7\n" * 3, "")


def test_delayed_data_do_not_replace_what_the_kernel_writes_after_an_open_for_writing_only(burst: BurstSite) -> None:
    # A system call that the library does not see, as io_uring and the functions of aio make them.
    write = f"libc.syscall({PWRITE64}, fd, b'z' * 10, ctypes.c_long(10), ctypes.c_long(0))"
    text = f"fd = begin(); os.close(fd); fd = os.open('files/f', os.O_WRONLY); print({write}); os.close(fd)"
    ran = burst.site.run("/usr/bin/python3", "-c", f"{PRELUDE}{text}")
    assert (ran.stdout, ran.stderr) == ("10\n", "")
    assert (burst.site.files / "f").read_bytes() == b"z" * 10 + b"n" * 49990


def test_a_process_whose_check_failed_still_sees_delayed_data(burst: BurstSite) -> None:
    writer = burst.begin(
        "import select\nfd = begin()\nprint('waits', flush=True)\nnumber = 0\n"
        "while not select.select([0], [], [], 0)[0]:\n"
        "    number += 1\n    os.pwrite(fd, b'%08d' % number * 512, 0)\n"
        "sys.stdin.readline(); os.pwrite(fd, b'the last' * 512, 0); wait()"
    )
    # The first bytes that each of them reads are compared with the kernel's, which change meanwhile.
    text = "fd = os.open('files/f', os.O_RDWR)\nos.pread(fd, 4096, 0)\nwait()\nprint(os.pread(fd, 8, 0))"
    readers = [burst.begin(text) for _ in range(20)]
    assert writer.stdin and writer.stdout
    writer.stdin.write("\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == "waits\n"
    assert {proceed(reader) for reader in readers} == {"b'the last'\n"}
    proceed(writer)


def test_a_process_without_burst_buffer_sees_the_data_of_one_that_its_job_gets_later(burst: BurstSite) -> None:
    commands = burst.commands
    burst.stop()
    burst.commands = [[*words, "--burst-jobs=0"] for words in commands]
    burst.start()
    reader = burst.begin("fd = begin(); os.pread(fd, 8, 0); wait(); print(os.pread(fd, 8, 0))")
    burst.stop()
    burst.commands = commands
    burst.start()
    writer = burst.begin("fd = begin(); os.pwrite(fd, b'm' * 5000, 0); wait()")
    assert proceed(reader) == "b'mmmmmmmm'\n"
    proceed(writer)


@pytest.mark.parametrize("between", ["", "os.close(fd); "], ids=["open", "closed"])
def test_the_next_fsync_fails_after_data_in_memory_were_lost(burst: BurstSite, between: str) -> None:
    text = f"fd = begin(); {between}wait(); fd = os.open('files/f', os.O_RDWR)"
    process = burst.begin(
        f"{text}; print(result(os.fsync, fd), result(os.fsync, fd))", env={"REPRISE_FORWARD_BURST": "ram"}
    )
    burst.kill()
    assert proceed(process) == "errno 5 None\n"


@pytest.mark.parametrize("between", ["", "os.close(fd); "], ids=["open", "closed"])
def test_an_fsync_waits_for_a_forwarder_that_is_started_again(burst: BurstSite, between: str) -> None:
    text = f"fd = begin(); {between}wait(); fd = os.open('files/f', os.O_RDWR) if {bool(between)} else fd; "
    process = burst.begin(f"{text}print(result(os.fsync, fd), flush=True); os._exit(0)")
    burst.stop()
    burst.kill()
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    burst.start()
    assert proceed(process) == "None\n"
    assert (burst.site.files / "f").read_bytes() == b"n" * 50000


def test_a_process_without_free_descriptor_does_not_wait_forever(burst: BurstSite) -> None:
    process = burst.begin(
        "fd = begin(); resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "while isinstance(result(os.dup, 1), int):\n    pass\n"
        "wait(); print(os.pwrite(fd, b'x', 0), flush=True); os._exit(0)",
        env={"REPRISE_FORWARD_WRITE_MS": "500"},
    )
    burst.kill()
    assert proceed(process, 20) == "1\n"


@pytest.mark.parametrize(
    ("rename", "path"),
    [
        ("os.rename('files/d/f', 'files/d/g')", "d/g"),
        ("os.system('mv files/d/f files/d/g')", "d/g"),
        ("os.close(fd); os.rename('files/d', 'files/e'); fd = os.open('files/e/f', os.O_RDWR)", "e/f"),
    ],
    ids=["own", "other", "directory"],
)
def test_a_renamed_file_loses_nothing_when_its_burst_buffer_is_killed(burst: BurstSite, rename: str, path: str) -> None:
    (burst.site.files / "d").mkdir()
    process = burst.begin(f"fd = begin('files/d/f'); {rename}; os.pwrite(fd, b'z', 49999); wait(); os.fsync(fd)")
    burst.kill()
    proceed(process)
    assert (burst.site.files / path).read_bytes() == b"n" * 49999 + b"z"
    shutil.rmtree((burst.site.files / path).parent)


def test_the_end_of_a_process_waits_for_a_burst_buffer_that_is_started_again(burst: BurstSite) -> None:
    process = burst.begin("fd = begin(); wait()")
    burst.kill()
    proceed(process)
    assert (burst.site.files / "f").read_bytes() == b"n" * 50000


ENDING = """
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
static int fd;
static char bytes[5000];
static void write_both(int value)
{
    memset(bytes, value, sizeof bytes);
    for (int i = 0; i < 2; i++) {
        if (pwrite(fd, bytes, sizeof bytes, i * (off_t)sizeof bytes) < 0) {
            _exit(1);
        }
    }
}
__attribute__((constructor)) static void begin(void)
{
    fd = open("files/f", O_RDWR | O_CREAT, 0644);
    write_both('o');
}
__attribute__((destructor)) static void end(void)
{
    write_both('n');
}
"""


def test_data_that_other_libraries_write_at_the_end_are_in_the_file_system(burst: BurstSite) -> None:
    site = burst.site
    (site.directory / "ending.c").write_text(ENDING)
    (site.directory / "main.c").write_text("int main(void)\n{\n    return 0;\n}\n")
    linked = ["-Wl,--no-as-needed", "./libending.so", "-Wl,-rpath,$ORIGIN"]
    for words in (["-shared", "-fPIC", "ending.c", "-o", "libending.so"], ["main.c", *linked, "-o", "main"]):
        subprocess.run(["cc", *words], check=True, cwd=site.directory)
    assert site.run("./main").status == 0
    assert (site.files / "f").read_bytes() == b"n" * 10000


def test_an_error_that_a_closed_copy_of_a_descriptor_got_is_reported_by_fsync(burst: BurstSite, diod: Diod) -> None:
    process = burst.begin(
        "fd = begin(); other = os.dup(fd); os.pread(other, 1, 0); wait(); os.pwrite(fd, b'z' * 1000, 200000)\n"
        "os.chmod('files/f', 0o644)\n"  # waits for the delayed write, which fails
        "print(result(os.close, other), result(os.fsync, fd), result(os.fsync, fd))"
    )
    assert diod.process
    subprocess.run(["prlimit", f"--pid={diod.process.pid}", "--fsize=100000"], check=True)
    assert proceed(process) == "errno 5 errno 5 None\n"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to mount a small file system")
def test_a_full_disk_is_reported(site: Site, program: Path) -> None:
    bursts, options = site.directory / "bursts", "--burst-auth=none --linger=1"
    bursts.mkdir()
    script = (
        "unset LD_PRELOAD\nmount -t tmpfs -o size=1m none files\n"
        f"{PROGRAM} -f --no-auth --no-userdb -l $PWD/sock -e $PWD/files -L stderr 2>/dev/null & diod=$!\n"
        "until test -S sock; do sleep 0.01; done\n"
        f"{program} --listen=$PWD/clients --diod=$PWD/sock --bursts={bursts} {options} & forwarder=$!\n"
        "until test -S clients; do sleep 0.01; done\n"
        'LD_PRELOAD=$2 /usr/bin/python3 -c "$1"\n'
        "kill $forwarder $diod\n"
    )
    text = (
        "fd = begin(); os.fsync(fd); os.system('env -u LD_PRELOAD dd if=/dev/zero of=files/other bs=4k 2>/dev/null')\n"
        "print(result(os.pwrite, fd, b'z' * 10000, 100000), flush=True); os._exit(0)"
    )
    site.map(site.directory / "clients")
    site.settings |= {**BURST, **LATER, "REPRISE_FORWARD_BURST": "ram"}
    library = site.programs / "libreprise_burst.so"
    try:
        ran = site.run("unshare", "--mount", "/bin/sh", "-e", "-c", script, "sh", PRELUDE + text, library)
    finally:
        kill_bursts(bursts)
    assert ran.stdout == "errno 28\n", ran.stderr


def test_a_close_that_waits_reports_that_a_delayed_write_failed(burst: BurstSite, diod: Diod) -> None:
    text = "fd = begin(); wait(); os.pwrite(fd, b'z' * 1000, 200000); print(result(os.close, fd), result(os.close, fd))"
    process = burst.begin(text, env={"REPRISE_FORWARD_BURST_CLOSE": "wait"})
    assert diod.process
    subprocess.run(["prlimit", f"--pid={diod.process.pid}", "--fsize=100000"], check=True)
    assert proceed(process) == "errno 5 errno 9\n"
