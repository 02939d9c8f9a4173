# SPDX-License-Identifier: Apache-2.0
"""Test that the forwarder reports its state to systemd as the unit expects."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forward.forwarder.conftest import Place


@contextmanager
def started(program: Path, place: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [str(program), f"--listen={place}/listen", f"--diod={place}/diod"]
    running = subprocess.Popen(words, env={**os.environ, **environment}, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.terminate()
        running.wait(20)


@pytest.mark.parametrize("abstract", [False, True])
def test_it_is_ready_and_then_reports_that_its_loop_turns(program: Path, place: Place, abstract: bool) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        name = f"\0reprise-test-{os.getpid()}" if abstract else f"{place.directory}/notify"
        systemd.bind(name)
        systemd.settimeout(20)
        given = {"NOTIFY_SOCKET": name.replace("\0", "@"), "WATCHDOG_USEC": "200000"}
        with started(program, place.directory, **given) as running:
            assert [systemd.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
            assert running.poll() is None


@pytest.mark.parametrize("socket_path", ["", "/", "relative", "/none/such", "/" + "x" * 200])
def test_a_socket_that_cannot_be_used_is_ignored(program: Path, place: Place, socket_path: str) -> None:
    given = {"NOTIFY_SOCKET": socket_path, "WATCHDOG_USEC": "1000"}
    with started(program, place.directory, **given) as running, pytest.raises(subprocess.TimeoutExpired):
        running.wait(0.3)


def test_the_watchdog_of_another_process_is_none_of_its_own(program: Path, place: Place) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"{place.directory}/notify")
        given = {"NOTIFY_SOCKET": f"{place.directory}/notify", "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"}
        with started(program, place.directory, **given):
            systemd.settimeout(20)
            assert systemd.recv(100) == b"READY=1"
            systemd.settimeout(0.5)
            with pytest.raises(TimeoutError):
                systemd.recv(100)
