# SPDX-License-Identifier: Apache-2.0
"""Peers: authenticated clients of connections, which unwrap requests and wrap replies if their transport needs this."""

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
MUNGE_THREADS = 4  # concurrent calls to munge; munged has two threads by default, and also serves Slurm


class Peer(Protocol):
    """Interface of a connection's peer.

    `frame_limit` is the maximum size of a frame's body, in bytes. If `is_plain` is True, a reply can be sent before a
    request has been read. `uid` is the authenticated uid. If the request itself authenticates the peer, `uid` is
    UNKNOWN until `opened` has returned.
    """

    frame_limit: int
    is_plain: bool
    uid: int

    @property
    def client(self) -> Hashable:
        """Client whose limits apply to the connection."""

    @property
    def words(self) -> Mapping[str, Any]:
        """Fields that identify the peer in the log."""

    async def opened(self, body: bytes) -> bytes:
        """Return the request in a frame's body. Raises ProtocolError if it cannot be unwrapped."""

    async def sealed(self, reply: bytes) -> bytes:
        """Return the frame body for a reply; empty if the peer's uid is unknown. Raises ProtocolError."""


class UnixPeer:
    """Process on this host, authenticated by the kernel (SO_PEERCRED, unix(7)). Its messages are not wrapped."""

    frame_limit = protocol.REQUEST_LIMIT
    is_plain = True

    def __init__(self, connection: socket.socket) -> None:
        size = struct.calcsize("3I")
        _pid, uid, _gid = struct.unpack("3I", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        self.uid = int(uid)

    @property
    def client(self) -> int:
        """The peer's uid."""
        return self.uid

    @property
    def words(self) -> Mapping[str, Any]:
        """Fields that identify the peer in the log."""
        return {"uid": self.uid}

    async def opened(self, body: bytes) -> bytes:
        """Return the body unchanged, because it is the request."""
        return body

    async def sealed(self, reply: bytes) -> bytes:
        """Return the reply unchanged, because it is the frame's body."""
        return reply


class MungePeer:
    """Process on any host, authenticated by its MUNGE credential.

    A reply is wrapped in a credential that only the peer's uid can decode. It contains the nonce of the request that it
    answers. `threads` run the calls to munge, which may block.
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
        """Return the request in a credential, and set `uid` to the uid in the credential. Raises ProtocolError."""
        credential = await self._threads.run(self.client, self._munge.open, body)
        self.uid = credential.uid
        self._nonce, message = protocol.opened_envelope(credential.payload)
        return message

    async def sealed(self, reply: bytes) -> bytes:
        """Return a credential that contains the reply; empty if no request was opened. Raises ProtocolError."""
        if not self._nonce:
            return b""
        return await self._threads.run(self.client, self._munge.make, self._nonce + reply, self.uid)


def munge_greeter(munge_socket: Path | None) -> Callable[[socket.socket], MungePeer]:
    """Return a function that creates the peer of a TCP connection. Raises ServiceError if libmunge cannot be loaded."""
    munge = Munge(str(munge_socket or ""))
    threads = FairThreads(MUNGE_THREADS, MUNGE_THREADS - 1, "munge")
    return lambda connection: MungePeer(connection, munge, threads)
