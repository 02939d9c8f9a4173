# SPDX-License-Identifier: Apache-2.0
"""A fake matcher on a Unix socket that replies as a test prescribes, and records the requests."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise.matcher.errors import ProtocolError
from reprise.matcher.wire.protocol import read_request

Message = dict[str, Any]
Conversation = Callable[[socket.socket, Message], None]
OK: Message = {"v": 1, "kind": "ok"}


def decision(verdict: str = "none", env: Mapping[str, str] | None = None, **fields: Any) -> Message:
    """Return a valid reply to a request of kind `decide`."""
    reply = {"v": 1, "kind": "decision", "id": "d-1", "verdict": verdict, "reason": "because", "env": dict(env or {})}
    return {**reply, "score": None, "record": None, **fields}


def frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def read_exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = peer.recv(size - len(data))
        if not part:
            raise ConnectionError(f"the peer closed after {len(data)} of {size} bytes")
        data += part
    return data


@contextlib.contextmanager
def serving(server: socket.socket, talk: Callable[[socket.socket], None]) -> Iterator[None]:
    """Run `talk` in a new thread for each connection, until the context ends."""

    def accept() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(peer,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@dataclass(frozen=True)
class Asked:
    """A received request, and the sender's user id as reported by the kernel."""

    message: Message
    uid: int


@dataclass
class FakeDaemon:
    """A matcher at `path` that answers `decide` with `reply` (`at_start` at a job's start), and other kinds with `ok`.

    If `identify` is set, the `ok` that answers the report of a job's start requests the identity of the program at that
    path. `converse`, if set, handles a connection after its request has been read. `refused` lists why the real daemon
    would have refused requests.
    """

    path: Path
    reply: Message = field(default_factory=decision)
    at_start: Message | None = None
    identify: str | None = None
    converse: Conversation | None = None
    asked: list[Asked] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def question(self) -> Message:
        """Return the message of the only request so far. Raise ValueError if there was not exactly one request."""
        (only,) = self.asked
        return only.message

    @contextlib.contextmanager
    def listening(self) -> Iterator[FakeDaemon]:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(self.path))
        self.path.chmod(0o666)
        server.listen(64)
        try:
            with serving(server, self._talk):
                yield self
        finally:
            server.close()
            self.path.unlink()

    def _talk(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError, ValueError):  # a client may exit early or send only part of a frame
            _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            (size,) = struct.unpack(">I", read_exactly(peer, 4))
            body = read_exactly(peer, size)
            try:
                read_request(body)
            except ProtocolError as error:
                self.refused.append(str(error))
            message = json.loads(body)
            self.asked.append(Asked(message, uid))
            if self.converse:
                self.converse(peer, message)
            else:
                self.send_answer(peer, message)

    def send_answer(self, peer: socket.socket, message: Message) -> None:
        peer.sendall(frame(json.dumps(self.answer_to(message)).encode()))

    def answer_to(self, message: Message) -> Message:
        if message["kind"] != "decide":
            return {**OK, "identify": self.identify} if message.get("state") == "started" and self.identify else OK
        return self.at_start if self.at_start and message["point"] == "start" else self.reply

    def of_kind(self, kind: str, point: str = "") -> list[Asked]:
        """Return the requests so far of this kind and, for `decide`, with this `point` (any if empty)."""
        return [a for a in self.asked if a.message["kind"] == kind and (not point or a.message["point"] == point)]


def say_nothing(peer: socket.socket, _: Message) -> None:
    """Send no answer, and return when the client has closed the connection."""
    while peer.recv(4096):
        pass


def say(data: bytes) -> Conversation:
    """Return a conversation that sends these bytes, after which the connection is closed."""
    return lambda peer, _: peer.sendall(data)


def say_slowly(data: bytes, every_s: float) -> Conversation:
    """Return a conversation that sends these bytes one by one, every `every_s` seconds."""

    def converse(peer: socket.socket, _: Message) -> None:
        for byte in data:
            peer.sendall(bytes([byte]))
            time.sleep(every_s)

    return converse
