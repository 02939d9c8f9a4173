# SPDX-License-Identifier: Apache-2.0
"""A fake matcher over TCP that can send any reply."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from reprise.matcher.wire.credentials import CredentialError, Method
from reprise.matcher.wire.munge import Munge
from reprise.matcher.wire.protocol import NONCE_BYTES
from reprise.matcher.wire.sack import Sack
from tests.fake_sack import FakeSack
from tests.munged import Munged
from tests.spank.daemon import OK, Asked, Message, decision, frame, read_exactly, serving


@dataclass(frozen=True)
class Call:
    """A received request: its nonce, its message, and its sender's user id."""

    nonce: bytes
    message: Message
    uid: int


Answer = Callable[[Call], bytes]  # returns the credential to send


@dataclass
class TcpDaemon:
    """A fake matcher on a free TCP port. It answers `decide` with `reply`, and other kinds of requests with `ok`.

    `answer`, if set, creates the credentials that are sent instead of these answers. If `hangs` is set, nothing is
    sent.
    """

    munged: Munged
    reply: Message = field(default_factory=decision)
    answer: Answer | None = None
    hangs: bool = False
    asked: list[Asked] = field(default_factory=list)
    answered: int = 0
    unreadable: list[bytes] = field(default_factory=list)
    sack: FakeSack | None = None  # if set, credentials are Slurm tokens

    @contextlib.contextmanager
    def listening(self) -> Iterator[TcpDaemon]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
            with serving(server, self._talk):
                yield self

    @property
    def settings(self) -> list[str]:
        """Return the plugin's arguments for this matcher."""
        sockets = [f"munge_socket={self.munged.socket}"]
        if self.sack:
            sockets = ["credential=slurm", f"sack_socket={self.sack.socket}"]
        return [self.endpoint, f"matcher_uid={os.geteuid()}", *sockets]

    @property
    def method(self) -> Method:
        return Sack(str(self.sack.socket)) if self.sack else Munge(str(self.munged.socket))

    @property
    def endpoint(self) -> str:
        return f"endpoint=tcp:127.0.0.1:{self.port}"

    def seal(self, call: Call) -> bytes:
        """Return a credential that contains the correct answer to a request."""
        message = self.reply if call.message["kind"] == "decide" else OK
        return self.method.make(call.nonce + json.dumps(message).encode(), call.uid)

    def _talk(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError, ValueError):  # a client may exit early or run out of memory
            body = read_exactly(peer, int.from_bytes(read_exactly(peer, 4), "big"))
            if self.hangs:
                peer.recv(1)  # returns when the client has given up
                return
            try:
                opened = self.method.open(body)
            except CredentialError:
                self.unreadable.append(body)
                return
            call = Call(opened.payload[:NONCE_BYTES], json.loads(opened.payload[NONCE_BYTES:]), opened.uid)
            self.asked.append(Asked(call.message, call.uid))
            answer = (self.answer or self.seal)(call)
            self.answered += 1
            peer.sendall(frame(answer))
