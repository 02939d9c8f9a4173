# SPDX-License-Identifier: Apache-2.0
"""Test that a job runs as without the plugin if the peer at the socket is not a healthy daemon."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.life import Job, assert_unharmed
from tests.spank.daemon import decision, frame, read_exactly
from tests.waiting import wait_for

WHOLE = frame(json.dumps(decision("apply", {"SRO_A": "1"})).encode())
Peer = Callable[[socket.socket], None]


def hear(peer: socket.socket) -> None:
    read_exactly(peer, int.from_bytes(read_exactly(peer, 4), "big"))


def wait_for_the_end(peer: socket.socket) -> None:
    while peer.recv(65536):
        pass


def then(*steps: Peer) -> Peer:
    def converse(peer: socket.socket) -> None:
        for step in steps:
            step(peer)

    return converse


def say(data: bytes) -> Peer:
    return lambda peer: peer.sendall(data)


def say_by_bytes(peer: socket.socket) -> None:
    for byte in WHOLE:
        peer.sendall(bytes([byte]))
        time.sleep(0.01)


def close_at_once(peer: socket.socket) -> None:
    pass


def reset(peer: socket.socket) -> None:
    peer.recv(1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def raise_sigpipe(peer: socket.socket) -> None:
    peer.recv(1)
    peer.shutdown(socket.SHUT_RD)  # a client that continues to write gets SIGPIPE


def never_read(peer: socket.socket) -> None:
    peer.recv(2, socket.MSG_PEEK)  # leaves the data in the buffer, so that the rest of a long request does not fit
    released.wait(10)


def flood(peer: socket.socket) -> None:
    with contextlib.suppress(TimeoutError):
        while True:
            peer.sendall(bytes(1 << 16))


released = threading.Event()
QUICK: dict[str, Peer] = {
    "closes-at-once": close_at_once,
    "resets": reset,
    "raises-sigpipe": raise_sigpipe,
    "closes-after-the-question": hear,
    **{f"closes-after-{size}-bytes": then(hear, say(WHOLE[:size])) for size in (1, 3, 4, 5, len(WHOLE) - 1)},
    "length-0": then(hear, say(bytes(4))),
    "length-1": then(hear, say(frame(b"{"))),
    "length-of-the-cap": then(hear, say(frame(b" " * 65_536))),
    "length-one-over-the-cap": then(hear, say(struct.pack(">I", 65_537) + WHOLE[4:].ljust(65_537))),
    "length-too-short": then(hear, say(struct.pack(">I", len(WHOLE) - 5) + WHOLE[4:])),
    "length-with-all-bits-set": then(hear, say(b"\xff" * 4 + WHOLE[4:])),
    "little-endian-length": then(hear, say(struct.pack("<I", len(WHOLE) - 4) + WHOLE[4:])),
    "speaks-http": then(hear, say(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")),
    "garbage": then(hear, say(bytes(range(256)) * 8)),
}
SLOW: dict[str, Peer] = {
    "floods-without-reading": flood,
    "never-answers": then(hear, wait_for_the_end),
    "never-reads": never_read,
    "header-then-silence": then(hear, say(WHOLE[:4]), wait_for_the_end),
    "half-a-header-then-silence": then(hear, say(WHOLE[:2]), wait_for_the_end),
    "all-but-one-byte-then-silence": then(hear, say(WHOLE[:-1]), wait_for_the_end),
    "length-too-long-then-silence": then(hear, say(struct.pack(">I", len(WHOLE)) + WHOLE[4:]), wait_for_the_end),
    "byte-by-byte": then(hear, say_by_bytes),
}


@contextlib.contextmanager
def peer_at(path: Path, converse: Peer) -> Iterator[list[bool]]:
    """Serve a socket, call `converse` with each client, and yield a list to which each client adds an entry."""
    talks: list[threading.Thread] = []
    came: list[bool] = []
    released.clear()

    def talk(client: socket.socket) -> None:
        client.settimeout(10)
        with client, contextlib.suppress(OSError):
            converse(client)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                came.append(True)
                talks.append(threading.Thread(target=talk, args=(client,)))
                talks[-1].start()

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        yield came
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    released.set()
    for one in talks:
        one.join()


@pytest.mark.parametrize("fault", [*QUICK, *SLOW])
def test_a_peer_that(job: Job, fault: str) -> None:
    job.stub.directory.joinpath("job.sh").write_text("\n" * 120_000)  # as JSON, twice as long as a socket's buffer
    job.spooled = job.stub.directory / "job.sh"
    if fault in QUICK:
        job.deadline_ms = 1000  # so that no answer is late
    with peer_at(job.stub.socket, (QUICK | SLOW)[fault]) as came:
        assert_unharmed(job, waits=fault in SLOW)
        wait_for("both questions", lambda: len(came) >= 2)
