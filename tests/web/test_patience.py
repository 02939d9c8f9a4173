# SPDX-License-Identifier: Apache-2.0
"""Test the limits on slow clients and large requests.

Idle connections must not block other clients, and the rest of an oversized request must not be read.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reprise.cli.web import MOST_REQUESTS
from reprise.web import patience
from reprise.web.request_guard import Guard
from tests.waiting import wait_for
from tests.web.site import WebSite

WAITED_S = 0.5
ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Return the body of the request. For /slow, first sleep for longer than the server waits for a request."""
    if scope["type"] == "http":
        await asyncio.sleep(1.5 * WAITED_S if scope["path"] == "/slow" else 0)
        body = await Request(scope, receive).body()
        await PlainTextResponse(body)(scope, receive, send)


class Serving(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """Install no signal handlers. Only the main thread may install them, and this server runs in another thread."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Return the port of a server that waits no longer than WAITED_S for a request."""
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listener:
        patch.setattr(patience, "REQUEST_S", WAITED_S)
        config = uvicorn.Config(Guard(echo), http=patience.Patient, ws="none", log_level="error", timeout_keep_alive=60)
        server = Serving(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        wait_for("the server", lambda: server.started)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def until_closed(connection: socket.socket) -> bytes:
    """Read until the server closes the connection, and return the data."""
    said = b""
    while came := connection.recv(65536):
        said += came
    return said


@pytest.mark.parametrize(
    "said",
    [b"", ASKED[:10], ASKED[:-2], b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1234"],
    ids=["nothing", "half a line", "half a header", "half a body"],
)
def test_a_connection_without_a_whole_request_is_closed(port: int, said: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(said)
        assert until_closed(connection) == b""


@pytest.mark.parametrize("said", [b"", ASKED[:10]], ids=["nothing", "half a line"])
def test_an_idle_connection_is_closed_after_an_answered_request(port: int, said: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(ASKED)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(said)
        assert until_closed(connection) == b""


@pytest.mark.slow
def test_a_connection_that_waits_for_an_answer_is_not_closed(port: int) -> None:
    with connected(port) as connection:
        for _ in range(2):
            connection.sendall(ASKED.replace(b" / ", b" /slow "))
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_an_endless_request_is_not_read_to_its_end(port: int) -> None:
    """The request is endless despite its Content-Length, because `Transfer-Encoding: chunked` takes precedence."""
    with connected(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(1000):
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


HALF = [ASKED[:-2], b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1234"]


@pytest.mark.slow
@pytest.mark.parametrize("half", HALF, ids=["header", "body"])
def test_other_clients_are_served_however_many_send_half_a_request(tmp_path: Path, half: bytes) -> None:
    site = WebSite(tmp_path)
    site.start()
    silent = []
    try:
        for _ in range(MOST_REQUESTS + 60):
            silent.append(connected(site.port))
            silent[-1].sendall(half)
        with site.client() as client:
            # For a moment there are too many connections, because all connections that arrive together are accepted
            # before any is closed.
            wait_for("the pages", lambda: client.get("/sign-in").status_code == 200, timeout_s=5.0)
            assert [client.get("/sign-in").status_code for _ in range(5)] == [200] * 5
    finally:
        for connection in silent:
            connection.close()
        site.stop()


def test_the_oldest_incomplete_request_of_the_busiest_address_is_closed_first(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "MOST_ASKING", 3)
    monkeypatch.setattr(patience, "REQUEST_S", 60.0)
    addresses = ["127.0.0.2", "127.0.0.1", "127.0.0.1", "127.0.0.1"]
    asking = [socket.create_connection(("127.0.0.1", port), 20, (address, 0)) for address in addresses]
    assert until_closed(asking[1]) == b"", "the busiest address loses its oldest connection"
    for connection in (asking[0], *asking[2:]):
        connection.sendall(ASKED)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.close()


def test_connections_from_another_host_are_limited_per_address(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "MOST_OF_ADDRESS", 1)
    monkeypatch.setattr(patience, "REQUEST_S", 60.0)
    monkeypatch.setattr(patience, "_is_own", lambda address: address == "127.0.0.1")
    with (
        socket.create_connection(("127.0.0.1", port), 20, ("127.0.0.2", 0)) as first,
        socket.create_connection(("127.0.0.1", port), 20, ("127.0.0.2", 0)) as second,
        connected(port) as another,
    ):
        assert until_closed(second) == b""
        for connection in (first, another):
            connection.sendall(ASKED)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
