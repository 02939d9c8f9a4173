# SPDX-License-Identifier: Apache-2.0
"""The daemons of a virtual cluster. The cluster's process 1 starts and reaps them, and reports if a daemon dies."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Daemon:
    """A daemon with a readable `name`, and a `log` file for its standard output and error."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]

    def obituary(self) -> str:
        """Return one line with the daemon's exit status and last output; "" if it is running or ended normally."""
        status = self.process.returncode
        if not status:
            return ""
        how = signal.Signals(-status).name if status < 0 else f"exit {status}"
        words = self.log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(words) if line.strip()), "no words")
        return f"{self.name} died ({how}): {last}: read {self.log} of the cluster"


@dataclass
class Daemons:
    """All daemons that a cluster's process 1 has started.

    `reap` also reaps children that are not daemons, because process 1 inherits orphans.
    """

    started: list[Daemon] = field(default_factory=list)

    def start(self, name: str, argv: list[str], log: str) -> None:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        with Path(log).open("ab") as out:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        self.started.append(Daemon(name, Path(log), process))

    def reap(self) -> None:
        """Reap all children that have ended."""
        known = {daemon.process.pid: daemon.process for daemon in self.started}
        try:
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if ended.si_pid in known:
                    known[ended.si_pid].wait()  # keeps the daemon's exit status
                else:
                    os.waitpid(ended.si_pid, 0)
        except ChildProcessError:  # no children
            pass

    def obituary(self) -> str:
        """Return one line about the first daemon that has died; "" if no daemon has died."""
        for daemon in self.started:
            daemon.process.poll()
        return next(filter(None, (daemon.obituary() for daemon in self.started)), "")

    def wait_for(self, what: str, ready: Callable[[], bool]) -> None:
        """Wait until `ready()` returns true; error messages call the awaited condition `what`.

        Raise RuntimeError if a daemon dies, or after START_TIMEOUT_S.
        """
        end = time.monotonic() + START_TIMEOUT_S
        while not ready():
            if died := self.obituary():
                raise RuntimeError(died)
            if time.monotonic() > end:
                raise RuntimeError(f"{what} was not ready after {START_TIMEOUT_S:.0f} s: read /var/log of the cluster")
            time.sleep(0.05)
