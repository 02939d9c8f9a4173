# SPDX-License-Identifier: Apache-2.0
"""Peers, which represent authenticated clients; they unwrap requests and wrap replies if the transport requires it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol

from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.daemon.used_tokens import UsedTokens
from reprise.matcher.wire import protocol
from reprise.matcher.wire.credentials import Method, MethodName
from reprise.matcher.wire.methods import method_of

UNKNOWN = -1
# Maximum number of concurrent calls of each credential method (MUNGE, Slurm's tokens). For comparison: munged has two
# threads by default, and also serves Slurm.
CREDENTIAL_THREADS = 4


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
    def is_secret(self) -> bool:
        """Whether only the peer can read a reply."""

    @property
    def client(self) -> Hashable:
        """Client whose limits apply to the connection."""

    @property
    def words(self) -> Mapping[str, Any]:
        """Fields that identify the peer in the log."""

    async def opened(self, body: bytes) -> bytes:
        """Return the request in a frame's body. Raises ProtocolError if it cannot be unwrapped."""

    async def sealed(self, reply: bytes) -> bytes:
        """Return the frame body for a reply; empty if the peer's uid is unknown. Raises ProtocolError on failure."""


class UnixPeer:
    """Process on this host, authenticated by the kernel (SO_PEERCRED, unix(7)). Its messages are not wrapped."""

    frame_limit = protocol.REQUEST_LIMIT
    is_plain = True
    is_secret = True

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


class CredentialPeer:
    """Process on any host, authenticated by the credential that contains its request (`Method`).

    A reply is wrapped in a credential of the same method, which only the peer's uid can open. The credential also
    contains the nonce of the request. `threads` has threads for each of `methods`, by name, because calls of a method
    may block. `used` has the accepted credentials that their method would accept again.
    """

    frame_limit = protocol.CREDENTIAL_FACTOR * protocol.REQUEST_LIMIT
    is_plain = False

    def __init__(
        self,
        connection: socket.socket,
        methods: Mapping[MethodName, Method],
        threads: Mapping[MethodName, FairThreads],
        used: UsedTokens,
    ) -> None:
        self._address: str = connection.getpeername()[0]
        self._methods = methods
        self._method: Method | None = None
        self._threads = threads
        self._used = used
        self._nonce = b""
        self.uid = UNKNOWN

    @property
    def is_secret(self) -> bool:
        """Whether only the peer can read a reply."""
        return self._method is not None and self._method.is_secret

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
        method = method_of(body, self._methods)
        credential = await self._threads[method.name].run(self.client, method.open, body)
        if credential.reusable:
            self._used.use(credential.reusable, credential.uid)
        self.uid = credential.uid
        self._method = method
        self._nonce, message = protocol.opened_envelope(credential.payload)
        return message

    async def sealed(self, reply: bytes) -> bytes:
        """Return a credential that contains the reply; empty if no request was opened. Raises ProtocolError."""
        if not self._method or not self._nonce:
            return b""
        threads = self._threads[self._method.name]
        return await threads.run(self.client, self._method.make, self._nonce + reply, self.uid)


def credential_greeter(methods: Mapping[MethodName, Method]) -> Callable[[socket.socket], CredentialPeer]:
    """Return a function that creates the peer of a TCP connection; the peer accepts credentials of `methods`.

    Each method has threads of its own, so that clients of one method do not wait for the system daemon (such as munged)
    of another method.
    """
    threads = {name: FairThreads(CREDENTIAL_THREADS, CREDENTIAL_THREADS - 1, name) for name in methods}
    used = UsedTokens()
    return lambda connection: CredentialPeer(connection, methods, threads, used)
