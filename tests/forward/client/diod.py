# SPDX-License-Identifier: Apache-2.0
"""Unmodified diod, the 9P server of Debian's package of that name, as a forwarder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.waiting import wait_for

PROGRAM = "/usr/sbin/diod"


class Diod:
    """A diod that serves a directory on a Unix socket, or on a port of the loopback interface."""

    def __init__(self, address: Path | str, directory: Path, *options: str, inside: Sequence[object] = ()) -> None:
        self.address = str(address)
        self.directory = directory
        self.options = options or ("--no-auth", "--no-userdb")
        self.inside = [str(word) for word in inside]  # a command that runs diod
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self.address.startswith("/"):
            Path(self.address).unlink(missing_ok=True)
        words = [
            *self.inside,
            PROGRAM,
            "-f",
            *self.options,
            "-l",
            self.address,
            "-e",
            str(self.directory),
            "-L",
            "stderr",
        ]
        # Without SIGPIPE, as systemd starts services: a client that is killed would end diod otherwise.
        before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        try:
            self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL, restore_signals=False)
        finally:
            signal.signal(signal.SIGPIPE, before)
        wait_for("diod", self.answers)

    def answers(self) -> bool:
        host, _, port = self.address.rpartition(":")
        family, to = (socket.AF_INET, (host, int(port))) if host else (socket.AF_UNIX, self.address)
        with socket.socket(family, socket.SOCK_STREAM) as one:
            return one.connect_ex(to) == 0

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self) -> Diod:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self.kill()
