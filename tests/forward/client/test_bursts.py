# SPDX-License-Identifier: Apache-2.0
"""Test that programs of a job with a burst buffer behave as without it, although their data are written later."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forward.client.conftest import Site
from tests.forward.client.diod import Diod
from tests.forward.client.test_programs import BYTES, CLAIMS, PYTHON, SQLITE, digest
from tests.forward.client.test_sequences import MANY, QUICK, compare
from tests.forward.forwarder.burst_processes import burst_pids, kill_bursts
from tests.forward.forwarder.conftest import program as program  # a fixture
from tests.forward.forwarder.nine import connects
from tests.waiting import wait_for

JOB = "4711"
BURST = {"REPRISE_FORWARD_BURST": "flash", "SLURM_JOB_ID": JOB}
LATER = {"REPRISE_FORWARD_BURST_DESTAGE_AFTER": "60000", "REPRISE_FORWARD_BURST_FLASH_THRESHOLD": "100"}
"""Settings with which data stay in the burst buffer until something waits for them."""


class BurstSite:
    """A site whose job has a burst buffer, with a forwarder in front of diod."""

    def __init__(self, site: Site, diod: Diod, program: Path) -> None:
        self.site = site
        address = site.directory / "clients"
        self.bursts, self.caches = site.directory / "bursts", site.directory / "caches"
        for directory in (self.bursts, self.caches):
            directory.mkdir()
        words = [f"--listen={address}", f"--diod={diod.address}", f"--bursts={self.bursts}", "--linger=600"]
        with (site.directory / "forwarder.log").open("ab") as log:
            self.forwarder = subprocess.Popen([program, *words, f"--burst-flash={self.caches}"], stderr=log)
        wait_for("the forwarder", connects(address))
        site.map(address)
        site.settings |= {"LD_PRELOAD": str(site.programs / "libreprise_burst.so"), **BURST, **LATER}

    def pids(self) -> list[int]:
        """Return the process ids of all burst buffers."""
        return burst_pids(self.bursts)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to all burst buffers."""
        kill_bursts(self.bursts, number)

    def end(self) -> None:
        self.forwarder.kill()
        self.forwarder.wait()
        self.kill()
        wait_for("the end of the burst buffers", lambda: not self.pids())


@pytest.fixture
def burst(site: Site, diod: Diod, program: Path) -> Iterator[BurstSite]:
    found = BurstSite(site, diod, program)
    try:
        yield found
    finally:
        found.end()
        sys.stdout.write((site.directory / "forwarder.log").read_text())  # pytest shows it if the test failed


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
    compare(burst.site, MANY)


def kill(burst: BurstSite, count: int) -> None:
    ran = compare(burst.site, count, burst.kill)
    assert ran.total("failures") > 0
    assert "failed" not in (burst.site.directory / "forwarder.log").read_text()


def test_operations_give_the_same_results_when_burst_buffers_are_killed(burst: BurstSite) -> None:
    kill(burst, QUICK)


@pytest.mark.slow
def test_many_operations_give_the_same_results_when_burst_buffers_are_killed(burst: BurstSite) -> None:
    kill(burst, 40)


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
    ],
    ids=["fsync", "close", "rename"],
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
