# SPDX-License-Identifier: Apache-2.0
"""Test that faulty clients of a real daemon get an error, are logged, and do not harm other clients."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import PING
from tests.unit.matcher_daemon import Daemon, record, request
from tests.waiting import wait_for

TIMEOUT_S = 1.0
CONNECTIONS = 64


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    one = Daemon(
        tmp_path_factory.mktemp("faults"), f"request_timeout_s = {TIMEOUT_S}", f"max_connections = {CONNECTIONS}"
    )
    one.add(record())
    yield one.start()
    assert one.stop() == 0
    assert "Traceback" not in one.text()


@pytest.fixture(autouse=True)
def serves_a_good_client_afterwards(daemon: Daemon) -> Iterator[None]:
    yield
    assert daemon.running()
    assert daemon.ask(request())["kind"] == "decision"


def error_of(reply: bytes) -> str:
    message = json.loads(reply)
    assert message["kind"] == "error" and message["v"] == 1
    return str(message["reason"])


@pytest.mark.parametrize("length", [0, protocol.REQUEST_LIMIT + 1, 2**31, 2**32 - 1])
def test_an_invalid_length_is_refused_before_the_body_is_read(daemon: Daemon, length: int) -> None:
    assert str(length) in error_of(daemon.send(length.to_bytes(4, "big")))


def test_the_longest_frame_is_read(daemon: Daemon) -> None:
    body = json.dumps(PING).encode().ljust(protocol.REQUEST_LIMIT)
    assert json.loads(daemon.send(len(body).to_bytes(4, "big") + body))["kind"] == "ok"


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0", b"\0\0\0\5abc"], ids=repr)
def test_a_truncated_frame_is_answered_with_an_error(daemon: Daemon, data: bytes) -> None:
    assert "bytes too early" in error_of(daemon.send(data, close=True))


def test_a_client_that_closes_without_sending_is_not_logged(daemon: Daemon) -> None:
    before = daemon.text()
    assert daemon.send(b"", close=True) == b""
    assert daemon.pings()
    assert "bad-frame" not in daemon.text().removeprefix(before)


@pytest.mark.parametrize(
    "body", [b"garbage", b"\xff\xfe", b"{}", b"[" * 1000, b'{"v":1,"kind":"drop table"}'], ids=repr
)
def test_garbage_is_answered_with_an_error(daemon: Daemon, body: bytes) -> None:
    assert error_of(daemon.send(len(body).to_bytes(4, "big") + body))


def test_an_http_client_is_answered(daemon: Daemon) -> None:
    assert error_of(daemon.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"))


def test_bad_frames_are_logged_with_the_uid_but_not_each_one(daemon: Daemon) -> None:
    before = daemon.text().count("event=bad-frame")
    for _ in range(50):
        daemon.send(b"\0\0\0\0")
    assert daemon.log_contains(f"event=bad-frame uid={os.getuid()} error=")
    assert daemon.text().count("event=bad-frame") - before <= 2


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\x0f{"], ids=repr)
def test_a_silent_client_is_disconnected_after_the_timeout(daemon: Daemon, sent: bytes) -> None:
    with daemon.connect() as connection:
        connection.sendall(sent)
        assert b"no complete frame was received within 1 s" in connection.recv(4096)
        assert connection.recv(1) == b""


def test_a_client_that_never_began_a_frame_is_disconnected_without_a_log_line(tmp_path: Path) -> None:
    """The client may be a plugin, which connects before it has a request, while sbatch still waits for the script."""
    own = Daemon(tmp_path, "request_timeout_s = 0.1").start()
    for sent in (b"", b"\0"):
        with own.connect() as connection:
            connection.sendall(sent)
            assert connection.recv(4096)
        assert ("event=silent-client" in own.text()) == bool(sent)
    own.stop()


def test_a_frame_that_comes_byte_by_byte_is_read(daemon: Daemon) -> None:
    body = json.dumps(PING).encode()
    with daemon.connect() as connection:
        for byte in len(body).to_bytes(4, "big") + body:
            connection.sendall(bytes([byte]))
        assert b'"kind":"ok"' in connection.recv(4096)


def test_clients_that_disconnect_early_or_do_not_read_harm_nobody(daemon: Daemon) -> None:
    body = json.dumps(request()).encode()
    for data in (b"", b"\0", len(body).to_bytes(4, "big") + body):
        for _ in range(50):
            with daemon.connect() as connection:
                connection.sendall(data)


def test_descriptors_are_released(daemon: Daemon) -> None:
    assert daemon.process
    open_files = Path(f"/proc/{daemon.process.pid}/fd")
    for _ in range(5):
        daemon.ask(PING)
    before = len(list(open_files.iterdir()))
    for _ in range(100):
        daemon.ask(PING)
        daemon.send(b"\0\0\0\0")
    wait_for("the connections' ends", lambda: len(list(open_files.iterdir())) <= before + 1)


def test_two_hundred_concurrent_clients_get_equal_verdicts(daemon: Daemon) -> None:
    replies: list[dict[str, Any]] = []
    gate = threading.Barrier(200)

    def client() -> None:
        gate.wait()
        replies.append(daemon.ask(request(), timeout_s=30))

    threads = [threading.Thread(target=client) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == 200
    assert len({reply["id"] for reply in replies}) == 200
    assert {reply["verdict"] for reply in replies} == {replies[0]["verdict"]}


@pytest.mark.slow
def test_silent_clients_on_all_connections_delay_others_only_until_their_timeout(daemon: Daemon) -> None:
    silent = [daemon.connect() for _ in range(CONNECTIONS)]
    try:
        assert daemon.ask(PING, timeout_s=10 * TIMEOUT_S)["kind"] == "ok"
    finally:
        for connection in silent:
            connection.close()


def test_a_hostile_submission_cannot_forge_a_log_line(daemon: Daemon) -> None:
    message = {**request(), "kind": "x\nINFO event=decision verdict=apply"}
    assert daemon.ask(message)["kind"] == "error"
    assert not daemon.log_contains(r"(?m)^INFO event=decision verdict=apply")


def test_mutated_requests_get_a_decision_or_an_error(daemon: Daemon) -> None:
    chance = random.Random(7)  # noqa: S311
    good = json.dumps(request()).encode()
    for _ in range(300):
        body = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(body))
            body[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        reply = json.loads(daemon.send(len(body).to_bytes(4, "big") + body))
        assert reply["kind"] in ("decision", "error")
        assert reply.get("reason") != "the matcher failed; its log says why", bytes(body)


def test_a_client_that_does_not_read_blocks_nobody(daemon: Daemon) -> None:
    with daemon.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        body = json.dumps(request()).encode()
        connection.sendall(len(body).to_bytes(4, "big") + body)
        assert daemon.pings()
