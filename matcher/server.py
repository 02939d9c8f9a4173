# SPDX-License-Identifier: Apache-2.0
"""The daemon's socket: who may connect, how frames are read, and how it starts and stops."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import logging
import os
import socket
import stat
import struct
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from matcher import protocol
from matcher.errors import ProtocolError, ServiceError
from matcher.eventlog import Throttle, line
from matcher.journal import MakeEntry

log = logging.getLogger(__name__)

BACKLOG = 1024  # clients that the kernel lets wait while `max_connections` are served (capped by net.core.somaxconn)
SOCKET_PATH_LIMIT = 107  # bytes, sun_path without its NUL (unix(7))
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
EXHAUSTED_PAUSE_S = 0.1  # time for connections to end and give back what is lacking

CHUNK = 65_536  # bytes that are read at once: nearly every request is shorter, and read in one go

Answer = Callable[[bytes, int], Awaitable[tuple[dict[str, Any], MakeEntry | None]]]


# --- the listening socket


def listen(path: Path) -> socket.socket:
    """Bind `path`, mode 0666, in place of what a killed daemon left there.

    Raises ServiceError where a daemon already serves it, or where somebody else could put a socket in its place.
    """
    if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
        raise ServiceError(f"{path}: is longer than the {SOCKET_PATH_LIMIT} bytes of a socket's path: shorten it")
    try:
        with _locked(path.parent):
            _remove_stale(path)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen(BACKLOG)
            return listener
    except OSError as error:
        raise ServiceError(
            f"{path}: cannot listen there ({error.strerror}): create {path.parent} for the user that runs the matcher, "
            "or set matcher.socket to another path"
        ) from error


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep two daemons that start at once from removing each other's socket."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise ServiceError(
                f"{directory}: everyone may write there, and so replace the socket: run `chmod o-w {directory}`"
            )
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ServiceError(f"{path}: is in the way and not a socket: remove it, or set matcher.socket to another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:  # its backlog is full: somebody listens
            pass
    raise ServiceError(f"{path}: another matcher serves this socket: stop it first (`systemctl stop reprise-matcher`)")


def caller_uid(connection: socket.socket) -> int:
    """The uid of the process at the other end, from the kernel (SO_PEERCRED, unix(7))."""
    size = struct.calcsize("3I")
    _pid, uid, _gid = struct.unpack("3I", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(uid)


# --- connections


class Server:
    """Serves connections on `listener`: one frame in, one frame out.

    At most `max_connections` at once, the others wait in the backlog; `timeout_s` for a client to send its frame, and
    again to take its reply.
    """

    def __init__(
        self,
        listener: socket.socket,
        answer: Answer,
        put: Callable[[MakeEntry], None],
        *,
        max_connections: int,
        timeout_s: float,
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._answer = answer
        self._put = put
        self._timeout_s = timeout_s
        self._max_connections = max_connections
        self._tasks: set[asyncio.Task[None]] = set()
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
        task = self._loop.create_task(self._converse(connection))
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        if len(self._tasks) == self._max_connections:
            self._loop.remove_reader(self._listener)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if len(self._tasks) == self._max_connections - 1:
            self._watch()

    async def _converse(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with connection:
            connection.setblocking(False)
            uid = caller_uid(connection)
            try:
                entry: MakeEntry | None = None
                try:
                    async with asyncio.timeout(self._timeout_s):
                        body = await _receive_frame(connection)
                    if not body:
                        return
                except ProtocolError as error:
                    self._throttle.warning(log, "bad-frame", uid=uid, error=error)
                    reply = protocol.error_reply(str(error))
                except TimeoutError:
                    self._throttle.warning(log, "silent-client", uid=uid)
                    reply = protocol.error_reply(f"no whole frame came within {self._timeout_s:g} s")
                else:
                    reply, entry = await self._answer(body, uid)
                with contextlib.suppress(TimeoutError):  # a client that does not read is left alone
                    async with asyncio.timeout(self._timeout_s):
                        await loop.sock_sendall(connection, protocol.frame(reply))
            except OSError:
                pass  # the client has gone: its deadline is over, or it was stopped
        if entry:  # even when the client has gone: it is how support learns of answers that came too late
            self._put(entry)


async def _receive_frame(connection: socket.socket) -> bytes:
    """The body of a frame; empty where the other end closes without a word, as health checks and a second daemon do.

    Raises ProtocolError for a length that is refused, as soon as it is known, and where the other end closes too early.
    """
    loop = asyncio.get_running_loop()
    data = bytearray()
    while (missing := _missing(data)) > 0:
        more = await loop.sock_recv(connection, CHUNK)
        if not more and not data:
            return b""
        if not more:
            raise ProtocolError(f"the frame ends {missing} bytes too early")
        data += more
    return bytes(data[protocol.HEADER_BYTES : len(data) + missing])


def _missing(data: bytearray) -> int:
    """How many bytes the header, and then the frame, lacks; below 0, how many are too many."""
    if len(data) < protocol.HEADER_BYTES:
        return protocol.HEADER_BYTES - len(data)
    return protocol.HEADER_BYTES + protocol.body_length(bytes(data[: protocol.HEADER_BYTES])) - len(data)


def remove_socket(path: Path, inode: int) -> None:
    """Remove the daemon's own socket; one that another daemon has put there since is left alone."""
    with contextlib.suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()
    log.info(line("stopped", socket=path))
