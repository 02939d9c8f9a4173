# SPDX-License-Identifier: Apache-2.0
"""Creation and removal of the daemon's listening sockets."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from reprise.config import SOCKET_PATH_LIMIT, host_and_port
from reprise.eventlog import line
from reprise.matcher.errors import ServiceError

log = logging.getLogger(__name__)

# IP_FREEBIND (ip(7)) and IPV6_FREEBIND (ipv6(7), Linux 4.15); Python 3.11 does not define them.
FREEBIND = {socket.AF_INET: (socket.IPPROTO_IP, 15), socket.AF_INET6: (socket.IPPROTO_IPV6, 78)}
BACKLOG = 1024  # maximum number of connections that wait in the kernel to be accepted; net.core.somaxconn may lower it


def listen(path: Path) -> socket.socket:
    """Listen on a Unix socket at `path`, with mode 0666; replace the socket of a daemon that was killed.

    Raises ServiceError if another daemon listens there, if other users could replace the socket, or if listening fails.
    """
    if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
        raise ServiceError(
            f"{path}: longer than {SOCKET_PATH_LIMIT} bytes, the maximum for sockets: use a shorter path"
        )
    try:
        with _locked(path):
            _remove_stale(path)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen(BACKLOG)
            return listener
    except OSError as error:
        raise ServiceError(
            f"{path}: cannot listen there ({error.strerror}): create {path.parent}, writable by the matcher's user, "
            "or set matcher.socket to another path"
        ) from error


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, so that two daemons that start at the same time do not remove each other's socket.

    The lock is a file that no other user can open, because anyone who can open a file can hold its lock forever.
    """
    mode = path.parent.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise ServiceError(
            f"{path.parent}: world-writable, so anyone could replace the socket: run `chmod o-w {path.parent}`"
        )
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _own_lock(lock)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _own_lock(lock: Path) -> int:
    """Return a descriptor of the locked file; retry if another daemon has removed the file in the meantime."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(lock.lstat(), os.fstat(descriptor)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ServiceError(f"{path}: exists and is not a socket: remove it, or set matcher.socket to another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:  # a full backlog means that a daemon is listening
            pass
    raise ServiceError(f"{path}: another matcher serves this socket: stop it first (`systemctl stop reprise-matcher`)")


def listen_tcp(address: str) -> socket.socket:
    """Return a TCP socket that listens on `host:port`. Raises ServiceError if binding or listening fails."""
    host, port = host_and_port(address)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        with contextlib.ExitStack() as unless_bound:
            listener = unless_bound.enter_context(socket.socket(family, socket.SOCK_STREAM))
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            bind(listener, host, port)
            listener.listen(BACKLOG)
            unless_bound.pop_all()
        return listener
    except OSError as error:
        raise ServiceError(
            f"{address}: cannot listen there ({error.strerror}): set matcher.listen to an address of this host and a "
            "free port, or to ''"
        ) from error


def bind(listener: socket.socket, host: str, port: int) -> None:
    """Bind a TCP socket. If this host does not have the address yet, bind it anyway and log a warning. Raises OSError.

    A network may come up after the daemon has started, and clients of the Unix socket must not wait for it.
    """
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        listener.setsockopt(*FREEBIND[listener.family], 1)
        listener.bind((host, port))
        log.warning(line("address-missing", address=f"{host}:{port}"))


def remove_socket(path: Path, inode: int) -> None:
    """Remove the daemon's socket, unless another daemon has replaced it in the meantime."""
    with contextlib.suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()
    log.info(line("stopped", socket=path))
