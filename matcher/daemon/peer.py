# SPDX-License-Identifier: Apache-2.0
"""Who is at the other end of a connection, and what a frame's body is wrapped in."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from reprise.matcher.wire import protocol
from reprise.matcher.wire.munge import Munge

MUNGE_THREADS = 4  # calls at once; munged has two threads of its own by default, and serves Slurm too


class Peer(Protocol):
    """The other end. `frame_limit`: of a frame's body, in bytes. `words`: who it is, for the log.

    `uid` is to be believed, and known once `opened` has returned.
    """

    frame_limit: int
    uid: int

    @property
    def words(self) -> Mapping[str, Any]: ...

    async def opened(self, body: bytes) -> bytes:
        """The request in a frame's body. Raises ProtocolError."""

    async def sealed(self, reply: bytes) -> bytes:
        """A reply as a frame's body; empty where it is not known who may read it. Raises ProtocolError."""


class UnixPeer:
    """A process of this host, known from the kernel (SO_PEERCRED, unix(7)): messages are sent as they are."""

    frame_limit = protocol.REQUEST_LIMIT

    def __init__(self, connection: socket.socket) -> None:
        size = struct.calcsize("3I")
        _pid, uid, _gid = struct.unpack("3I", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        self.uid = int(uid)

    @property
    def words(self) -> Mapping[str, Any]:
        return {"uid": self.uid}

    async def opened(self, body: bytes) -> bytes:
        return body

    async def sealed(self, reply: bytes) -> bytes:
        return reply


class MungePeer:
    """A process anywhere, known from its credential; what it is told only it can read, and only as an answer to what it
    asked. `executor` is where munge may block."""

    frame_limit = protocol.CREDENTIAL_FACTOR * protocol.REQUEST_LIMIT

    def __init__(self, connection: socket.socket, munge: Munge, executor: Executor) -> None:
        self._address = connection.getpeername()
        self._munge = munge
        self._executor = executor
        self._nonce = b""
        self.uid = -1

    @property
    def words(self) -> Mapping[str, Any]:
        return {"peer": self._address[0], "uid": self.uid if self._nonce else None}

    async def opened(self, body: bytes) -> bytes:
        credential = await asyncio.get_running_loop().run_in_executor(self._executor, self._munge.open, body)
        self.uid = credential.uid
        self._nonce, message = protocol.opened_envelope(credential.payload)
        return message

    async def sealed(self, reply: bytes) -> bytes:
        if not self._nonce:
            return b""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._munge.make, self._nonce + reply, self.uid)


def munge_greeter(munge_socket: Path | None) -> Callable[[socket.socket], MungePeer]:
    """What makes a peer of a connection over TCP. Raises ServiceError where there is no libmunge."""
    munge = Munge(str(munge_socket or ""))
    executor = ThreadPoolExecutor(MUNGE_THREADS, thread_name_prefix="munge")
    return lambda connection: MungePeer(connection, munge, executor)
