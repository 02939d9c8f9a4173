# SPDX-License-Identifier: Apache-2.0
"""A munged with a separate key for a test, which does not need root."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from tests.waiting import wait_for


class Munged:
    """A context manager that runs a munged. Clients use `socket`, which is in a directory that all users may enter.

    Credentials of one munged are valid at another one with the same `key`, as on two nodes of a cluster.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self.key = key or os.urandom(128)
        self._directory = tempfile.TemporaryDirectory(prefix="munged-")
        self.directory = Path(self._directory.name)
        self.socket = self.directory / "socket"

    def __enter__(self) -> Munged:
        self.directory.chmod(0o755)
        key = self.directory / "key"
        key.touch(mode=0o600)
        key.write_bytes(self.key)
        files = {"key-file": key, "socket": self.socket}
        files |= {name: self.directory / name for name in ("pid-file", "log-file", "seed-file")}
        with (self.directory / "output").open("wb") as output:
            self._process = subprocess.Popen(
                ["munged", "--foreground", *(f"--{name}={path}" for name, path in files.items())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        wait_for("munged", self._answers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.signal(signal.SIGCONT)
        self._process.terminate()
        self._process.wait()
        self._directory.cleanup()

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self.directory / "output").read_text()
        return subprocess.run(["munge", "-n", "-S", self.socket], capture_output=True, check=False).returncode == 0

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def credential(self, payload: bytes, *options: str, user: int | None = None) -> bytes:
        """Return a credential created by `user`, with these options of munge(1)."""
        done = subprocess.run(
            ["munge", "-S", self.socket, *options], input=payload, capture_output=True, check=True, user=user
        )
        return done.stdout.strip()
