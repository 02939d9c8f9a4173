# SPDX-License-Identifier: Apache-2.0
"""Server of the web pages, as a service that reports its state to systemd."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import uvicorn

from reprise.config import host_and_port
from reprise.systemd import keep_watchdog_calm, notify

UNPRIVILEGED = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
FIRST_UNPRIVILEGED_PORT = 1024
"""First port that users other than root may take: Linux's default, used if UNPRIVILEGED cannot be read."""


def remark(listen: str, passed: socket.socket | None) -> str:
    """Return a warning about the address of the pages, "" if there is nothing to warn about.

    `listen` is the setting web.listen; `passed` is the socket that systemd passed, None if it passed none.
    """
    host, port = host_and_port(listen)
    if passed is None:
        if port < _first_unprivileged_port():
            return ""  # only root can take the port
        return (
            f"the pages themselves hold {listen}: while they restart, any user of this host can take the port and "
            "receive the tokens of all who connect: let systemd hold it, "
            "`systemctl enable --now reprise-web.socket reprise-web.service`"
        )
    if passed.family == socket.AF_UNIX:
        return ""
    there = passed.getsockname()
    if there[1] == port and there[0] in _addresses(host.strip("[]")):
        return ""
    return (
        f"the pages are at {there[0]} port {there[1]}, the address of systemd's socket, and not at web.listen, "
        f"{listen}: correct that setting, or ListenStream= with `systemctl edit reprise-web.socket`"
    )


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return {host}


def _first_unprivileged_port() -> int:
    try:
        return int(UNPRIVILEGED.read_text())
    except (OSError, ValueError):
        return FIRST_UNPRIVILEGED_PORT


class Watched(uvicorn.Server):
    """A server that notifies systemd when it is ready, and then sends watchdog messages from its event loop."""

    _alive: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve, then notify systemd that the server is ready."""
        await super().startup(sockets)
        self._alive = asyncio.create_task(keep_watchdog_calm(os.environ))
        notify(os.environ, "READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Notify systemd that the server stops, then stop."""
        notify(os.environ, "STOPPING=1")
        await super().shutdown(sockets)
        if self._alive:
            self._alive.cancel()
