# SPDX-License-Identifier: Apache-2.0
"""The server of the pages as a service: the socket that systemd passes, and the signs of life that it waits for."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import MutableMapping

import uvicorn

from matcher.errors import ServiceError
from matcher.notify import FIRST_PASSED_DESCRIPTOR, notify, watchdog_interval_s


class Watched(uvicorn.Server):
    """Tells the service manager once it serves, and from then on that its loop, which takes requests, goes round."""

    _alive: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._alive = asyncio.create_task(_keep_watchdog_calm())
        notify(os.environ, "READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        notify(os.environ, "STOPPING=1")
        await super().shutdown(sockets)
        if self._alive:
            self._alive.cancel()


async def _keep_watchdog_calm() -> None:
    interval_s = watchdog_interval_s(os.environ)
    while interval_s:
        notify(os.environ, "WATCHDOG=1")
        await asyncio.sleep(interval_s)


def passed_listener(environment: MutableMapping[str, str]) -> socket.socket | None:
    """The listening socket, of TCP or Unix, that systemd passed (sd_listen_fds(3)), or None. The variables are removed:
    they are not for campaigns. Raises ServiceError where something else was passed."""
    count = environment.pop("LISTEN_FDS", "")
    process = environment.pop("LISTEN_PID", "")
    environment.pop("LISTEN_FDNAMES", None)
    if process != str(os.getpid()) or count in ("", "0"):
        return None
    if count != "1":
        raise ServiceError(
            f"{count} sockets were passed (LISTEN_FDS): give reprise-web.socket exactly one ListenStream"
        )
    try:
        listener = socket.socket(fileno=FIRST_PASSED_DESCRIPTOR)
        listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if listener.type != socket.SOCK_STREAM or not listening:
            raise OSError("another kind")
    except OSError as error:
        raise ServiceError(
            f"the socket passed (LISTEN_FDS) is not a listening stream socket ({error}): correct ListenStream"
        ) from error
    listener.set_inheritable(False)
    return listener
