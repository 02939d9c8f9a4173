# SPDX-License-Identifier: Apache-2.0
"""Server that accepts the daemon's connections, reads and answers their frames, and closes them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any

from reprise.eventlog import Throttle
from reprise.matcher.daemon.connections import Places
from reprise.matcher.daemon.metrics import Metrics
from reprise.matcher.daemon.peer import Peer
from reprise.matcher.daemon.pending_writes import Unmade
from reprise.matcher.daemon.quiet_time import Quiet
from reprise.matcher.daemon.turns import Room, Rounds
from reprise.matcher.errors import ProtocolError
from reprise.matcher.wire import protocol

log = logging.getLogger(__name__)

EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
EXHAUSTED_PAUSE_S = 0.1  # seconds to wait for connections to end and release descriptors or memory

REFUSAL = protocol.frame(protocol.error_reply(protocol.NOT_NOW))

CHUNK = 65_536  # bytes to read at once; nearly every request is shorter

ACCEPTED_AT_ONCE = 32
"""Maximum number of connections that are accepted before open connections are served again.

Many are accepted at once, because all clients share one backlog, and other clients must not wait in it behind a flood
of one client's connections. Refusing a connection takes some 40 us.
"""

FRAME_BYTES = 32 * 2**20
"""Maximum total bytes of frames longer than CHUNK that are handled at once; memory use is four times that.

The limit allows 128 frames of the maximum length. One client has at most one frame per connection.
"""

Answer = Callable[[bytes, int, bool], Awaitable[tuple[dict[str, Any], Unmade | None]]]
Guest = tuple[socket.socket, Peer]


class Server:
    """Server that accepts the connections to `listener`, reads one frame from each, and answers with one frame.

    `greet` returns the peer of a connection. At most `max_connections` are served at once, and one client may have only
    a share of them; other connections wait for a place. A client has `timeout_s` seconds to send its frame, and
    `timeout_s` more to receive its reply. If too many connections wait, or if `is_over` returns True for the uid, a
    connection is refused before anything is read from it. `count` is called with the uid of each connection that sends
    no complete and valid frame. `answer` gets the request, the uid, and whether only the peer can read the reply.
    """

    def __init__(
        self,
        listener: socket.socket,
        greet: Callable[[socket.socket], Peer],
        answer: Answer,
        quiet: Quiet,
        *,
        max_connections: int,
        timeout_s: float,
        room: Room | None = None,
        rounds: Rounds | None = None,
        is_over: Callable[[int], bool] = lambda _: False,
        count: Callable[[int], object] = lambda _: None,
        metrics: Metrics | None = None,
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._greet = greet
        self._answer = answer
        self._quiet = quiet
        self._timeout_s = timeout_s
        self._places: Places[Guest] = Places(max_connections)
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = room or Room(FRAME_BYTES)
        self._rounds = rounds or Rounds()
        self._is_over = is_over
        self._count = count
        self._metrics = metrics or Metrics()
        self._throttle = Throttle()

    async def serve(self, stop: asyncio.Event) -> None:
        """Accept connections until `stop` is set, then let open connections finish."""
        self._loop = asyncio.get_running_loop()
        self._broken: asyncio.Future[None] = self._loop.create_future()
        self._watch()
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((self._broken, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for connection, _ in self._places.waiting():
            connection.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2 * self._timeout_s)
        if self._broken.done():
            self._broken.result()

    def _watch(self) -> None:
        """Let the loop call `_accept` when a client connects, if the listener is still open."""
        if self._listener.fileno() >= 0:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept at most ACCEPTED_AT_ONCE connections, so that the loop soon serves open connections again."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:  # no more connections
                return
            except OSError as error:
                if error.errno == errno.ECONNABORTED:
                    continue
                self._loop.remove_reader(self._listener)
                if error.errno not in EXHAUSTED:
                    self._broken.set_exception(error)
                    return
                self._throttle.warning(log, "accept-failed", error=error.strerror)
                self._loop.call_later(EXHAUSTED_PAUSE_S, self._watch)
                return
            self._quiet.stir()
            self._receive(connection)

    def _receive(self, connection: socket.socket) -> None:
        """Serve a new connection, or let it wait for a place, or refuse it."""
        connection.setblocking(False)
        try:
            peer = self._greet(connection)
        except OSError:  # the client has disconnected
            connection.close()
            return
        if self._is_over(peer.uid):
            self._refuse((connection, peer), "rate")
        elif self._places.take(peer.client):
            self._serve(connection, peer)
        elif refused := self._places.wait(peer.client, (connection, peer)):
            self._refuse(refused, "connections")

    def _serve(self, connection: socket.socket, peer: Peer) -> None:
        task = self._loop.create_task(self._converse(connection, peer))
        self._tasks.add(task)
        task.add_done_callback(partial(self._finished, peer.client))

    def _finished(self, client: Hashable, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._places.leave(client)
        if guest := self._places.next():
            self._serve(*guest)
        self._quiet.stir()

    def _refuse(self, guest: Guest, why: str) -> None:
        connection, peer = guest
        self._metrics.refused(why)
        self._throttle.warning(log, "not-now", why=why, **peer.words)
        with connection, contextlib.suppress(OSError):
            if peer.is_plain:
                connection.send(REFUSAL)

    async def _converse(self, connection: socket.socket, peer: Peer) -> None:
        entry: Unmade | None = None
        with connection, contextlib.suppress(OSError):  # the client disconnected before it sent a request
            received = bytearray()
            taken = 0

            async def make_room(length: int) -> None:
                nonlocal taken
                await self._room.take(peer.client, length)
                taken = length

            try:
                async with asyncio.timeout(self._timeout_s) as patience:
                    self._places.begin_asking(peer.client, patience)
                    try:
                        body = await _receive_frame(connection, received, peer.frame_limit, make_room)
                    finally:
                        self._places.end_asking(peer.client, patience)
                    if not body:
                        self._count(peer.uid)
                        return
                    received.clear()
                    request = await peer.opened(body)
            except ProtocolError as error:
                self._count(peer.uid)
                self._throttle.warning(log, "bad-frame", **peer.words, error=error)
                reply = protocol.error_reply(str(error))
            except TimeoutError:
                self._count(peer.uid)
                if received:  # no warning otherwise: the client may be an sbatch whose user is still typing the script
                    self._throttle.warning(log, "silent-client", **peer.words)
                reply = protocol.error_reply(f"no complete frame was received within {self._timeout_s:g} s")
            else:
                if len(self._tasks) > 1:
                    await self._rounds.turn(peer.uid)
                reply, entry = await self._answer(request, peer.uid, peer.is_secret)
            finally:
                if taken:
                    self._room.give(taken)
            await self._reply(connection, peer, protocol.body(reply))
        if entry:  # even if the client has disconnected, so that support finds late answers
            self._quiet.put(entry)

    async def _reply(self, connection: socket.socket, peer: Peer, body: bytes) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                sealed = await peer.sealed(body)
                if sealed:
                    await asyncio.get_running_loop().sock_sendall(connection, protocol.framed(sealed))
        except ProtocolError as error:
            self._throttle.warning(log, "reply-failed", **peer.words, error=error)
        except TimeoutError:  # the client does not read
            pass
        except OSError:  # the client has disconnected because its deadline has passed or it was interrupted
            self._metrics.late()


async def _receive_frame(
    connection: socket.socket, data: bytearray, limit: int, make_room: Callable[[int], Awaitable[None]]
) -> bytes:
    """Read a frame into `data` and return its body.

    The body is empty if the peer closes the connection without sending anything. Health checks, a second daemon, and
    plugins with the option `off` do so. If the frame is longer than CHUNK, the rest is read after `make_room` has
    reserved memory for the whole frame.

    Raises ProtocolError if the length in the header is not allowed, or if the peer closes the connection within the
    frame.
    """
    loop = asyncio.get_running_loop()
    has_room = False
    while (missing := _missing(data, limit)) > 0:
        if len(data) + missing > CHUNK and not has_room:
            await make_room(len(data) + missing)
            has_room = True
        more = await loop.sock_recv(connection, CHUNK)
        if not more and not data:
            return b""
        if not more:
            raise ProtocolError(f"the frame ends {missing} bytes too early")
        data += more
    with memoryview(data) as whole:
        return bytes(whole[protocol.HEADER_BYTES : len(data) + missing])


def _missing(data: bytearray, limit: int) -> int:
    """Return how many bytes of the frame are missing; negative if there are too many.

    If the header is incomplete, return how many bytes of the header are missing.
    """
    if len(data) < protocol.HEADER_BYTES:
        return protocol.HEADER_BYTES - len(data)
    return protocol.HEADER_BYTES + protocol.body_length(bytes(data[: protocol.HEADER_BYTES]), limit) - len(data)
