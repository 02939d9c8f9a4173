# SPDX-License-Identifier: Apache-2.0
"""A site with diod, several forwarders and a council, all real processes on this machine."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.forward.forwarder.conftest import Place, within
from tests.forward.forwarder.nine import Nine, connects
from tests.waiting import wait_for

BLOCK = 4096


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


@dataclass
class Site:
    """Forwarders in front of the diod of `place`, and a council on a TCP port. `auth` is that of the council.

    `more` are further lines of the council's configuration.
    """

    place: Place
    auth: str = "none"
    munge: Path | None = None
    explore: str = "all"
    more: str = ""
    port: int = field(default_factory=free_port)
    metrics_port: int = field(default_factory=free_port)
    council: subprocess.Popen[bytes] | None = None
    forwarders: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    clients: list[Nine] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        """Return the council's directory."""
        return self.place.directory / "council"

    def configure(self) -> None:
        """Write the configuration."""
        socket_line = f'[matcher]\nmunge_socket = "{self.munge}"\n' if self.munge else ""
        (self.place.directory / "reprise.toml").write_text(
            f'[site]\ncluster = "c"\n{socket_line}[database]\npath = "{self.place.directory}/reprise.db"\n[council]\n'
            f'listen = "127.0.0.1:{self.port}"\nauth = "{self.auth}"\ndirectory = "{self.directory}"\n'
            f'metrics = "127.0.0.1:{self.metrics_port}"\nexplore = "{self.explore}"\n{self.more}'
        )

    def start_council(self) -> None:
        """Start the council, and wait until it listens."""
        self.configure()
        words = [sys.executable, "-m", "reprise", "--config", str(self.place.directory / "reprise.toml"), "council"]
        before = self.council_log().count("event=deliberating")
        with (self.place.directory / "council.log").open("ab") as log:
            self.council = subprocess.Popen(words, stdout=log, stderr=log)
        wait_for("the council", lambda: self.council_log().count("event=deliberating") > before)

    def kill_council(self) -> None:
        """Kill the council."""
        assert self.council
        self.council.kill()
        self.council.wait()

    def start_forwarder(self, number: int, *options: str) -> None:
        """Start a forwarder, and wait until it listens."""
        at = self.place.directory
        words = [str(self.place.program), f"--listen={at}/clients{number}", f"--diod={at}/diod"]
        words += [f"--control={at}/control{number}", f"--number={number}", "--scheduler=twins", "--servers=2"]
        words += ["--window=0", f"--council=127.0.0.1:{self.port}", f"--council-auth={self.auth}", *options]
        with self.log_of(number).open("ab") as log:
            self.forwarders[number] = subprocess.Popen([*within(self.munge), *words], stdout=log, stderr=log)
        wait_for("the forwarder", connects(at / f"clients{number}"))

    def log_of(self, number: int) -> Path:
        """Return the file with the messages of a forwarder."""
        return self.place.directory / f"forwarder{number}.log"

    def kill_forwarder(self, number: int) -> None:
        """Kill a forwarder."""
        forwarder = self.forwarders.pop(number)
        forwarder.send_signal(signal.SIGKILL)
        forwarder.wait()

    def client(self, number: int, user: str = "4711") -> Nine:
        """Return a new connection to a forwarder."""
        self.clients.append(Nine(self.place.directory / f"clients{number}", self.place.export, user))
        return self.clients[-1]

    def status(self, number: int) -> dict[str, Any]:
        """Return the state of a forwarder."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(30)
            stream.connect(str(self.place.directory / f"control{number}"))
            stream.sendall(b"status\n")
            answer: dict[str, Any] = json.loads(stream.makefile().readline())
            return answer

    def metrics(self) -> dict[str, float]:
        """Return the values of the council's metrics, by their name with labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30) as page:
            lines = [line.rpartition(" ") for line in page.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def council_log(self) -> str:
        """Return what the council has printed."""
        file = self.place.directory / "council.log"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        """End all processes, and print their logs, which pytest shows if the test failed."""
        for client in self.clients:
            client.close()
        for process in (*self.forwarders.values(), self.council):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        for file in sorted(self.place.directory.glob("*.log")):
            sys.stdout.write(f"{file.name}:\n{file.read_text()}")
        for file in self.place.directory.glob("forwarder*.log"):
            assert "Sanitizer" not in file.read_text() and "runtime error" not in file.read_text()
