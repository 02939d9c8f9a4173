# SPDX-License-Identifier: Apache-2.0
"""The server of the pages as a service that tells systemd that it lives."""

from __future__ import annotations

import asyncio
import os
import socket

import uvicorn

from reprise.systemd import keep_watchdog_calm, notify


class Watched(uvicorn.Server):
    """Tells the service manager once it serves, and from then on that its loop, which takes requests, goes round."""

    _alive: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._alive = asyncio.create_task(keep_watchdog_calm(os.environ))
        notify(os.environ, "READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        notify(os.environ, "STOPPING=1")
        await super().shutdown(sockets)
        if self._alive:
            self._alive.cancel()
