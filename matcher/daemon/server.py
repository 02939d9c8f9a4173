# SPDX-License-Identifier: Apache-2.0
"""Connections to the daemon: how many are served, how frames are read and answered, and how that ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from reprise.eventlog import Throttle
from reprise.matcher.daemon.peer import Peer
from reprise.matcher.daemon.pending_writes import MakeEntry
from reprise.matcher.daemon.quiet_time import Quiet
from reprise.matcher.errors import ProtocolError
from reprise.matcher.wire import protocol

log = logging.getLogger(__name__)

EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
EXHAUSTED_PAUSE_S = 0.1  # time for connections to end and give back what is lacking

CHUNK = 65_536  # bytes that are read at once: nearly every request is shorter, and read in one go

Answer = Callable[[bytes, int], Awaitable[tuple[dict[str, Any], MakeEntry | None]]]


class Server:
    """Serves connections on `listener`: one frame in, one frame out. `greet` says what is known of who has connected.

    At most `max_connections` at once, the others wait in the backlog; `timeout_s` for a client to send its frame, and
    again to take its reply. `late` is called where the client has gone before that.
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
        late: Callable[[], object] = lambda: None,
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._greet = greet
        self._answer = answer
        self._quiet = quiet
        self._timeout_s = timeout_s
        self._max_connections = max_connections
        self._tasks: set[asyncio.Task[None]] = set()
        self._late = late
        self._accepts = True
        self._throttle = Throttle()

    async def serve(self, stop: asyncio.Event) -> None:
        """Accept until `stop` is set, then let those in flight finish."""
        self._loop = asyncio.get_running_loop()
        self._broken: asyncio.Future[None] = self._loop.create_future()
        self._watch()
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((self._broken, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        self._accepts = False
        self._loop.remove_reader(self._listener)
        self._listener.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2 * self._timeout_s)
        if self._broken.done():
            self._broken.result()

    def _watch(self) -> None:
        """Have `_accept` called when somebody connects, unless there are as many as may be."""
        if self._accepts and len(self._tasks) < self._max_connections:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """One connection each time that the loop comes by, so that those that are open get their turn too."""
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:  # it has gone again
            return
        except OSError as error:
            self._loop.remove_reader(self._listener)
            if error.errno not in (*EXHAUSTED, errno.ECONNABORTED):
                self._broken.set_exception(error)
                return
            self._throttle.warning(log, "accept-failed", error=error.strerror)
            self._loop.call_later(EXHAUSTED_PAUSE_S, self._watch)
            return
        self._quiet.stir()
        task = self._loop.create_task(self._converse(connection))
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        if len(self._tasks) == self._max_connections:
            self._loop.remove_reader(self._listener)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if len(self._tasks) == self._max_connections - 1:
            self._watch()
        self._quiet.stir()

    async def _converse(self, connection: socket.socket) -> None:
        entry: MakeEntry | None = None
        with connection, contextlib.suppress(OSError):  # the client has gone before it had asked
            connection.setblocking(False)
            peer = self._greet(connection)
            received = bytearray()
            try:
                async with asyncio.timeout(self._timeout_s):
                    body = await _receive_frame(connection, received, peer.frame_limit)
                    if not body:
                        return
                    request = await peer.opened(body)
            except ProtocolError as error:
                self._throttle.warning(log, "bad-frame", **peer.words, error=error)
                reply = protocol.error_reply(str(error))
            except TimeoutError:
                if received:  # else it may be a plugin that connects ahead, in an sbatch whose user types the script
                    self._throttle.warning(log, "silent-client", **peer.words)
                reply = protocol.error_reply(f"no whole frame came within {self._timeout_s:g} s")
            else:
                reply, entry = await self._answer(request, peer.uid)
            await self._reply(connection, peer, protocol.body(reply))
        if entry:  # even when the client has gone: it is how support learns of answers that came too late
            self._quiet.put(entry)

    async def _reply(self, connection: socket.socket, peer: Peer, body: bytes) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                sealed = await peer.sealed(body)
                if sealed:
                    await asyncio.get_running_loop().sock_sendall(connection, protocol.framed(sealed))
        except ProtocolError as error:
            self._throttle.warning(log, "reply-failed", **peer.words, error=error)
        except TimeoutError:  # a client that does not read is left alone
            pass
        except OSError:  # its deadline is over, or it was stopped
            self._late()


async def _receive_frame(connection: socket.socket, data: bytearray, limit: int) -> bytes:
    """The body of a frame, read into `data`; empty where the other end closes without a word, as health checks, a
    second daemon and plugins whose options say `off` do.

    Raises ProtocolError for a length that is refused, as soon as it is known, and where the other end closes too early.
    """
    loop = asyncio.get_running_loop()
    while (missing := _missing(data, limit)) > 0:
        more = await loop.sock_recv(connection, CHUNK)
        if not more and not data:
            return b""
        if not more:
            raise ProtocolError(f"the frame ends {missing} bytes too early")
        data += more
    return bytes(data[protocol.HEADER_BYTES : len(data) + missing])


def _missing(data: bytearray, limit: int) -> int:
    """How many bytes the header, and then the frame, lacks; below 0, how many are too many."""
    if len(data) < protocol.HEADER_BYTES:
        return protocol.HEADER_BYTES - len(data)
    return protocol.HEADER_BYTES + protocol.body_length(bytes(data[: protocol.HEADER_BYTES]), limit) - len(data)
