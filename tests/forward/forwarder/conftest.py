# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the forwarder: diod and the forwarder as real processes, in a directory of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.forward.forwarder.nine import Nine, connects
from tests.once import built_once
from tests.waiting import wait_for

SOURCE = Path(__file__).parents[3] / "accelerators/forward/forwarder"
DIOD = shutil.which("diod", path=f"{os.environ['PATH']}:/usr/sbin")
COMPILER = os.environ.get("SPANK_CC", "cc")
FLAGS = os.environ.get("FORWARDER_CFLAGS", "")


@pytest.fixture(scope="session")
def program() -> Path:
    """Return the path of the forwarder, built once and kept."""
    if subprocess.run(["pkg-config", "--exists", "libevent_core", "zlib"], check=False).returncode:
        pytest.skip("libevent-dev or zlib1g-dev is not installed")
    files = [*SOURCE.glob("*.[ch]"), SOURCE / "Makefile", Path(__file__)]
    directory = built_once(f"forwarder{len(FLAGS) or ''}", COMPILER, files, build)
    return directory / "reprise-forwarder"


def build(directory: Path) -> None:
    words = ["make", "-s", "-C", str(SOURCE), f"BUILD={directory}", f"CC={COMPILER}", f"CFLAGS={FLAGS}"]
    subprocess.run(words, check=True, capture_output=True)


DRIVERS = {
    "policies": ("scheduler", "load", "layout", "layout_map", "queue", "fifo", "sjf", "twins"),
    "patterns": ("patterns", "features", "metrics"),
    "load": ("load",),
}
"""Programs that drive parts of the forwarder with made-up clocks, and those parts."""


@dataclass(frozen=True)
class Drivers:
    """Directory of the programs that drive parts of the forwarder."""

    directory: Path

    def drive(self, name: str, lines: Iterable[str]) -> list[str]:
        """Return the lines that a program prints for lines of input."""
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run([self.directory / name], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()


@pytest.fixture(scope="session")
def drivers(program: Path) -> Drivers:
    """Return the programs that drive parts of the forwarder, built once and kept."""
    assert program
    files = [*SOURCE.glob("*.[ch]"), *Path(__file__).parent.glob("*.c"), Path(__file__)]
    return Drivers(built_once(f"forwarder-drivers{len(FLAGS) or ''}", COMPILER, files, build_drivers))


def build_drivers(directory: Path) -> None:
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    flags += [*FLAGS.split(), "-iquote", str(SOURCE)]
    for name, parts in DRIVERS.items():
        files = [str(Path(__file__).parent / f"{name}.c"), *(str(SOURCE / f"{part}.c") for part in parts)]
        words = [COMPILER, *flags, *files, "-o", str(directory / name), "-levent_core"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def within(munge: Path | None) -> list[str]:
    """Return the beginning of a command line that makes a munged's socket the one that libmunge uses."""
    if munge is None:
        return []
    mounts = 'mount -t tmpfs tmpfs /run && mkdir /run/munge && ln -s "$0" /run/munge/munge.socket.2 && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", mounts, str(munge)]


@dataclass
class Place:
    """A directory with an export, diod, and the forwarder in front of it."""

    directory: Path
    program: Path
    diod: subprocess.Popen[bytes] | None = None
    forwarder: subprocess.Popen[bytes] | None = None
    clients: list[Nine] = field(default_factory=list)

    @property
    def export(self) -> Path:
        """Return the directory that is exported."""
        return self.directory / "export"

    @property
    def flash(self) -> Path:
        """Return the directory of the flash cache."""
        return self.directory / "flash"

    def start_diod(self, ignored: str = "XFSZ", munge: Path | None = None) -> None:
        """Start diod, and wait until it listens. With munged's socket, diod asks for credentials.

        diod dies of SIGPIPE if a client ends during a reply, unless the signal is ignored, as systemd does. Most tests
        do not ignore it, because the forwarder must protect diod from it; those that kill the forwarder do.
        """
        assert DIOD
        address = self.directory / "diod"
        address.unlink(missing_ok=True)
        words = [*within(munge), "env", f"--ignore-signal={ignored}", DIOD, "-f", *([] if munge else ["-n"])]
        words += ["-l", str(address), "-e", str(self.export), "-L", "stderr", "-c", "/dev/null"]
        with (self.directory / "diod.log").open("ab") as log:
            self.diod = subprocess.Popen(words, stdout=log, stderr=log)
        wait_for("diod", connects(address))

    def start(self, *options: str, munge: Path | None = None) -> None:
        """Start the forwarder, and wait until it listens."""
        with (self.directory / "forwarder.log").open("ab") as log:
            self.forwarder = subprocess.Popen([*within(munge), *self.words(*options)], stdout=log, stderr=log)
        wait_for("the forwarder", connects(self.directory / "clients"))

    def words(self, *options: str) -> list[str]:
        """Return the forwarder's command line."""
        at = self.directory
        fixed = [f"--listen={at}/clients", f"--diod={at}/diod", f"--control={at}/control", f"--metrics={at}/metrics"]
        return [str(self.program), *fixed, *options]

    def client(self, user: str = "job-7") -> Nine:
        """Return a new connection to the forwarder."""
        self.clients.append(Nine(self.directory / "clients", self.export, user))
        return self.clients[-1]

    def direct(self) -> Nine:
        """Return a new connection to diod itself."""
        self.clients.append(Nine(self.directory / "diod", self.export))
        return self.clients[-1]

    def kill(self) -> None:
        """Kill the forwarder."""
        assert self.forwarder
        self.forwarder.send_signal(signal.SIGKILL)
        self.forwarder.wait()

    def kill_diod(self) -> None:
        """Kill diod."""
        assert self.diod
        self.diod.send_signal(signal.SIGKILL)
        self.diod.wait()

    def terminate(self) -> int:
        """End the forwarder as systemd does, and return its exit status."""
        assert self.forwarder
        self.forwarder.send_signal(signal.SIGTERM)
        return self.forwarder.wait(timeout=30)

    def control(self, command: str) -> dict[str, Any]:
        """Return the answer to a command, an object."""
        answer: dict[str, Any] = json.loads(self.command(command))
        return answer

    def command(self, command: str) -> str:
        """Return the line that answers a command."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(30)
            stream.connect(str(self.directory / "control"))
            stream.sendall(command.encode() + b"\n")
            return stream.makefile().readline()

    def metrics(self) -> dict[str, float]:
        """Return the values of all metrics, by their name with labels."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(30)
            stream.connect(str(self.directory / "metrics"))
            stream.sendall(b"GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            page = b""
            while more := stream.recv(1 << 16):
                page += more
        head, _, body = page.decode().partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 200"), head
        lines = [line.rpartition(" ") for line in body.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def log(self) -> str:
        """Return what the forwarder has printed."""
        file = self.directory / "forwarder.log"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        """End all processes."""
        for client in self.clients:
            client.close()
        for process in (self.forwarder, self.diod):
            if process and process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def place(program: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """Yield a directory in which diod runs."""
    if not DIOD:
        pytest.skip("diod is not installed")
    place = Place(Path(mkdtemp(prefix="reprise-forward-")), program)
    place.export.mkdir()
    place.flash.mkdir()
    try:
        place.start_diod()
        yield place
        assert "Sanitizer" not in place.log() and "runtime error" not in place.log(), place.log()
    finally:
        place.end()
        for name in ("diod.log", "forwarder.log"):
            if (file := place.directory / name).exists():
                sys.stdout.write(f"{name}:\n{file.read_text()}")  # pytest shows it if the test failed
        shutil.rmtree(place.directory)


@pytest.fixture
def passing(place: Place) -> Place:
    """Return a place whose forwarder passes everything through."""
    place.start()
    return place
