# SPDX-License-Identifier: Apache-2.0
"""The peer of a connection: who it is, and how the body of a frame is wrapped for it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, Protocol

from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.wire import protocol
from reprise.matcher.wire.munge import Munge

UNKNOWN = -1
MUNGE_THREADS = 4  # concurrent calls; munged has two threads by default, and serves Slurm too


class Peer(Protocol):
    """The other end of a connection.

    `frame_limit`: maximum size of a frame's body, in bytes. `is_plain`: a reply can be sent before a request was read.
    `uid` is authenticated; it is UNKNOWN until `opened` has returned.
    """

    frame_limit: int
    is_plain: bool
    uid: int

    @property
    def client(self) -> Hashable:
        """Client to whose limits the connection counts."""

    @property
    def words(self) -> Mapping[str, Any]:
        """Fields that identify the peer in the log."""

    async def opened(self, body: bytes) -> bytes:
        """Return the request in a frame's body. Raises ProtocolError."""

    async def sealed(self, reply: bytes) -> bytes:
        """Return a reply as a frame's body; empty if its reader is unknown. Raises ProtocolError."""


class UnixPeer:
    """A process on this host, authenticated by the kernel (SO_PEERCRED, unix(7)); messages are not wrapped."""

    frame_limit = protocol.REQUEST_LIMIT
    is_plain = True

    def __init__(self, connection: socket.socket) -> None:
        size = struct.calcsize("3I")
        _pid, uid, _gid = struct.unpack("3I", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        self.uid = int(uid)

    @property
    def client(self) -> int:
        """The uid."""
        return self.uid

    @property
    def words(self) -> Mapping[str, Any]:
        """Fields that identify the peer in the log."""
        return {"uid": self.uid}

    async def opened(self, body: bytes) -> bytes:
        """Return the body, which is the request."""
        return body

    async def sealed(self, reply: bytes) -> bytes:
        """Return the reply, which is the body."""
        return reply


class MungePeer:
    """A process on any host, authenticated by its MUNGE credential. `threads`: run the calls of munge, which may block.

    A reply is sealed for the peer's uid, and carries the nonce of the request that it answers.
    """

    frame_limit = protocol.CREDENTIAL_FACTOR * protocol.REQUEST_LIMIT
    is_plain = False

    def __init__(self, connection: socket.socket, munge: Munge, threads: FairThreads) -> None:
        self._address: str = connection.getpeername()[0]
        self._munge = munge
        self._threads = threads
        self._nonce = b""
        self.uid = UNKNOWN

    @property
    def client(self) -> str:
        """The peer's address."""
        return self._address

    @property
    def words(self) -> Mapping[str, Any]:
        """Fields that identify the peer in the log; the uid is None until `opened` has returned."""
        return {"peer": self._address, "uid": self.uid if self._nonce else None}

    async def opened(self, body: bytes) -> bytes:
        """Return the request in a credential, and take the uid from it. Raises ProtocolError."""
        credential = await self._threads.run(self.client, self._munge.open, body)
        self.uid = credential.uid
        self._nonce, message = protocol.opened_envelope(credential.payload)
        return message

    async def sealed(self, reply: bytes) -> bytes:
        """Return a credential with the reply; empty if no request was opened. Raises ProtocolError."""
        if not self._nonce:
            return b""
        return await self._threads.run(self.client, self._munge.make, self._nonce + reply, self.uid)


def munge_greeter(munge_socket: Path | None) -> Callable[[socket.socket], MungePeer]:
    """Return a function that makes the peer of a TCP connection. Raises ServiceError if there is no libmunge."""
    munge = Munge(str(munge_socket or ""))
    threads = FairThreads(MUNGE_THREADS, MUNGE_THREADS - 1, "munge")
    return lambda connection: MungePeer(connection, munge, threads)
