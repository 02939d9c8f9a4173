# SPDX-License-Identifier: Apache-2.0
"""Run `reprise` in a forked process, because a newly started process takes half a second for its imports.

Each of pytest's processes has a fork server: a process that has imported the daemon's modules, and that forks itself
for each command. The command's process has its own environment, directory, descriptors and parent, and exits like any
Python process. Tests of how a process starts (wrappers, descriptors from systemd) start new processes instead.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.places import ROOT

IMPORTED = (
    "reprise.matcher.daemon.daemon",
    "reprise.cli.match",
    "reprise.matcher.wire.methods",
    "multiprocessing.pool",
    "concurrent.futures.process",
)
REQUEST_MAX = 200_000  # maximum bytes of a command with its environment


class Forked:
    """A process with the methods of subprocess.Popen that tests need; its output goes to the descriptor `log`."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, log: int) -> None:
        self.returncode: int | None = None
        self._told, telling = os.pipe()
        request = json.dumps({"arguments": list(arguments), "env": dict(env), "cwd": str(cwd)})
        try:
            socket.send_fds(server(), [request.encode("utf-8", "surrogateescape")], [log, telling])
        finally:
            os.close(telling)
        self.pid = self._next(60)

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float = 60) -> int:
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("reprise", timeout)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout_s: float) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout_s)[0]:
            self.returncode = self._next(60)
            os.close(self._told)
        return self.returncode

    def _next(self, timeout_s: float) -> int:
        assert select.select([self._told], [], [], timeout_s)[0], "the fork server does not answer"
        line = os.read(self._told, 16)
        assert line, "the fork server ended"
        return int(line)


@cache
def server() -> socket.socket:
    """Return the connection to this process's fork server.

    Start the server on the first call; closing the connection stops the server.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "tests.unit.forked", str(theirs.fileno())],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return ours


def serve(connection: socket.socket) -> None:
    """Fork for each request. Return only in the forked process, once its environment and descriptors are set."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, REQUEST_MAX, 2)
        if not data:
            raise SystemExit(0)
        if os.fork() == 0:
            break
        for descriptor in descriptors:
            os.close(descriptor)
    connection.close()
    log, telling = descriptors
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # If a shell runs the tests in the background, they ignore SIGINT, and this process has inherited that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if pid := os.fork():
        os.close(log)
        tell(telling, pid)
        tell(telling, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
    os.close(telling)
    become(json.loads(data.decode("utf-8", "surrogateescape")), log)


def tell(descriptor: int, number: int) -> None:
    """Write a number in 16 characters, so that a reader can separate two numbers that arrive together."""
    os.write(descriptor, f"{number:16d}".encode())


def become(request: Mapping[str, Any], log: int) -> None:
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    sys.argv[1:] = request["arguments"]


if __name__ == "__main__":
    import importlib

    from reprise.cli import main

    for name in IMPORTED:
        importlib.import_module(name)
    serve(socket.socket(fileno=int(sys.argv[1])))
    main.main()
