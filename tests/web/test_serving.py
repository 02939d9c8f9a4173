# SPDX-License-Identifier: Apache-2.0
"""The pages as a service: the socket that systemd passes, and what it is told."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reprise.web.serving import Watched
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


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """What is told to the service manager, which is at `tmp_path / "notify"`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.settimeout(20)
        yield bound


def wait_until_told(manager: socket.socket, *states: str) -> None:
    told: set[str] = set()
    while not set(states) <= told:
        told.add(manager.recv(100).decode())


@pytest.mark.slow
def test_a_socket_from_systemd_is_served_and_systemd_told(tmp_path: Path, manager: socket.socket) -> None:
    site = WebSite(tmp_path)
    listens = site.port
    site.file.write_text(site.file.read_text().replace(f":{listens}", ":1"))  # what is passed counts
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
def test_something_else_than_a_socket_from_systemd_is_refused(tmp_path: Path) -> None:
    site = WebSite(tmp_path)
    site.spawn(sys.executable, "-c", PASSES_NO_SOCKET)
    assert site.process and site.process.wait(timeout=30) == 1
    assert "the socket passed (LISTEN_FDS) is not a listening stream socket" in site.log.read_text()


def test_a_loop_that_hangs_tells_no_more_that_it_lives(
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
        manager.settimeout(0.3)  # 30 times what passes between two signs
        with pytest.raises(TimeoutError):
            for _ in range(1000):  # what it had told before
                manager.recv(100)
        manager.settimeout(20)
        goes_on.set()
        wait_until_told(manager, ALIVE)
        server.should_exit = True
        wait_until_told(manager, STOPPING)
        asks.join()
        serves.join()
