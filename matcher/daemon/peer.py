# SPDX-License-Identifier: Apache-2.0
"""Who is at the other end of a connection, and what a frame's body is wrapped in."""

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
MUNGE_THREADS = 4  # calls at once; munged has two threads of its own by default, and serves Slurm too


class Peer(Protocol):
    """The other end. `frame_limit`: of a frame's body, in bytes. `words`: who it is, for the log. `client`: whose
    connections it counts among. `is_plain`: it can be answered before it has asked.

    `uid` is to be believed, and known once `opened` has returned; UNKNOWN before.
    """

    frame_limit: int
    is_plain: bool
    uid: int

    @property
    def client(self) -> Hashable: ...

    @property
    def words(self) -> Mapping[str, Any]: ...

    async def opened(self, body: bytes) -> bytes:
        """The request in a frame's body. Raises ProtocolError."""

    async def sealed(self, reply: bytes) -> bytes:
        """A reply as a frame's body; empty where it is not known who may read it. Raises ProtocolError."""


class UnixPeer:
    """A process of this host, known from the kernel (SO_PEERCRED, unix(7)): messages are sent as they are."""

    frame_limit = protocol.REQUEST_LIMIT
    is_plain = True

    def __init__(self, connection: socket.socket) -> None:
        size = struct.calcsize("3I")
        _pid, uid, _gid = struct.unpack("3I", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        self.uid = int(uid)

    @property
    def client(self) -> int:
        return self.uid

    @property
    def words(self) -> Mapping[str, Any]:
        return {"uid": self.uid}

    async def opened(self, body: bytes) -> bytes:
        return body

    async def sealed(self, reply: bytes) -> bytes:
        return reply


class MungePeer:
    """A process anywhere, known from its credential; what it is told only it can read, and only as an answer to what it
    asked. `threads` are where munge may block."""

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
        return self._address

    @property
    def words(self) -> Mapping[str, Any]:
        return {"peer": self._address, "uid": self.uid if self._nonce else None}

    async def opened(self, body: bytes) -> bytes:
        credential = await self._threads.run(self.client, self._munge.open, body)
        self.uid = credential.uid
        self._nonce, message = protocol.opened_envelope(credential.payload)
        return message

    async def sealed(self, reply: bytes) -> bytes:
        if not self._nonce:
            return b""
        return await self._threads.run(self.client, self._munge.make, self._nonce + reply, self.uid)


def munge_greeter(munge_socket: Path | None) -> Callable[[socket.socket], MungePeer]:
    """What makes a peer of a connection over TCP. Raises ServiceError where there is no libmunge."""
    munge = Munge(str(munge_socket or ""))
    threads = FairThreads(MUNGE_THREADS, MUNGE_THREADS - 1, "munge")
    return lambda connection: MungePeer(connection, munge, threads)
