# SPDX-License-Identifier: Apache-2.0
"""Test the web pages as a systemd service: the socket that systemd passes, and the notifications to systemd."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import httpx2 as httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reprise.web.serving import Watched, remark
from tests.waiting import wait_for
from tests.web.site import WebSite

READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"
PARENT = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""
PASSES_NO_SOCKET = """
import os, sys
os.dup2(os.open("/dev/null", os.O_RDONLY), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
"""


GIVEN = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""
# A program that another user runs. It listens on the port as soon as the port is free, and finally prints the data it
# received.
TAKER = """
import os, select, socket, sys
os.setgroups([]); os.setgid(65533); os.setuid(65533)
print("at it", flush=True)
got = b""
taken = None
while not select.select([sys.stdin], [], [], 0.001)[0]:
    try:
        taken = taken or socket.create_server(("127.0.0.1", int(sys.argv[1])))
    except OSError:
        continue
    if select.select([taken], [], [], 0)[0]:
        connection = taken.accept()[0]
        got += connection.recv(65536)
        connection.close()
print("nothing" if taken is None else f"the port, and {got}")
"""


class Taker:
    """Another user, who tries to take the port while the context is open.

    Afterwards, `took` shows what the user received.
    """

    def __init__(self, port: int) -> None:
        self.port, self.took = port, ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-c", TAKER, str(self.port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout and self.process.stdout.readline() == "at it\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.took = self.process.communicate("enough\n", timeout=20)[0].strip()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Return the socket `tmp_path / "notify"`, which receives the notifications to the service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.settimeout(20)
        yield bound


def wait_until_told(manager: socket.socket, *states: str) -> None:
    told: set[str] = set()
    while not set(states) <= told:
        told.add(manager.recv(100).decode())


@pytest.mark.slow
def test_a_socket_from_systemd_is_served_and_systemd_is_notified(tmp_path: Path, manager: socket.socket) -> None:
    site = WebSite(tmp_path)
    listens = site.port
    site.file.write_text(site.file.read_text().replace(f":{listens}", ":1"))  # web.listen differs from systemd's socket
    try:
        site.start(
            sys.executable, "-c", PARENT, str(listens), NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="2000000"
        )
        wait_until_told(manager, READY, ALIVE)
        with site.client() as client:
            assert client.get("/api/me").json()["uid"] == os.getuid()
        assert site.process
        site.process.terminate()
        wait_until_told(manager, STOPPING)
    finally:
        site.stop()


@pytest.mark.slow
def test_a_descriptor_from_systemd_that_is_not_a_socket_is_refused(tmp_path: Path) -> None:
    site = WebSite(tmp_path)
    site.spawn(sys.executable, "-c", PASSES_NO_SOCKET)
    assert site.process and site.process.wait(timeout=30) == 1
    assert "the socket that systemd passed (LISTEN_FDS) is not a listening stream socket" in site.log.read_text()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to switch to another user")
def test_nobody_takes_a_port_that_systemd_holds_while_the_pages_restart(tmp_path: Path) -> None:
    site = WebSite(tmp_path)
    with socket.create_server(("127.0.0.1", site.port)) as listener:
        given = listener.fileno()
        try:
            with Taker(site.port) as taker:
                for _ in range(2):
                    site.start(sys.executable, "-c", GIVEN, str(given), passed=[given])
                    site.stop()
                site.spawn(sys.executable, "-c", GIVEN, str(given), passed=[given])
                with site.client() as client:  # a client that connects during the restart waits until it is served
                    assert client.get("/api/me").json()["uid"] == os.getuid()
        finally:
            site.stop()
    assert taker.took == "nothing"
    assert "while they restart" not in site.log.read_text()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to switch to another user")
def test_a_port_held_by_the_pages_can_be_taken_and_their_log_warns_of_it(
    tmp_path: Path,
) -> None:
    site = WebSite(tmp_path)
    token = site.token()
    try:
        site.start()
        with Taker(site.port) as taker:
            site.stop()

            def taken() -> bool:
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", site.port)) == 0

            wait_for("the port to be taken", taken, 20)
            with contextlib.suppress(httpx.TransportError):
                httpx.get(site.url, headers={"cookie": f"reprise_token={token}"})
    finally:
        site.stop()
    assert token in taker.took
    assert f"the pages' own process holds 127.0.0.1:{site.port}" in site.log.read_text()
    assert "reprise-web.socket" in site.log.read_text()


def test_a_socket_at_another_address_than_web_listen_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as passed:
        port = passed.getsockname()[1]
        assert remark(f"127.0.0.1:{port}", passed) == remark(f"localhost:{port}", passed) == ""
        assert f"the pages are at 127.0.0.1 port {port}" in remark("10.0.0.5:7818", passed)


def test_a_port_that_only_root_can_take_is_not_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("reprise.web.serving.UNPRIVILEGED", tmp_path / "none")
    assert remark("127.0.0.1:443", None) == "" != remark("127.0.0.1:7818", None)


def test_a_hanging_event_loop_no_longer_notifies_the_watchdog(
    tmp_path: Path, manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    async def hang(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hangs.set()
            goes_on.wait(20)
            await PlainTextResponse("")(scope, receive, send)

    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "20000")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = Watched(uvicorn.Config(hang, ws="none", lifespan="off", log_level="error"))
        asks = threading.Thread(target=httpx.get, args=(f"http://127.0.0.1:{port}",), kwargs={"timeout": 30})
        serves = threading.Thread(target=server.run, args=([listener],))
        serves.start()
        wait_until_told(manager, READY, ALIVE)
        asks.start()
        assert hangs.wait(20)
        manager.settimeout(0.3)  # 30 times the interval between notifications
        with pytest.raises(TimeoutError):
            for _ in range(1000):  # discards the notifications that were sent before the loop hung
                manager.recv(100)
        manager.settimeout(20)
        goes_on.set()
        wait_until_told(manager, ALIVE)
        server.should_exit = True
        wait_until_told(manager, STOPPING)
        asks.join()
        serves.join()
