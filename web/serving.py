# SPDX-License-Identifier: Apache-2.0
"""Server for the web pages, which runs as a service and reports its state to systemd."""

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
"""First port that users other than root may use: Linux's default, which applies if UNPRIVILEGED cannot be read."""


def remark(listen: str, passed: socket.socket | None) -> str:
    """Return a warning about the address of the pages, or "" if the address is safe and correct.

    `listen` is the setting web.listen; `passed` is the socket that systemd passed, or None if systemd passed no socket.
    """
    host, port = host_and_port(listen)
    if passed is None:
        if port < _first_unprivileged_port():
            return ""  # no ordinary user can take a privileged port
        return (
            f"the pages' own process holds {listen}: while it restarts, any user of this host can take the port and "
            "receive the tokens of all who connect: let systemd hold the port, "
            "`systemctl enable --now reprise-web.socket reprise-web.service`"
        )
    if passed.family == socket.AF_UNIX:
        return ""
    there = passed.getsockname()
    if there[1] == port and there[0] in _addresses(host.strip("[]")):
        return ""
    return (
        f"the pages are at {there[0]} port {there[1]}, the address of systemd's socket, not at web.listen, "
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
        """Start the server, then notify systemd that it is ready."""
        await super().startup(sockets)
        self._alive = asyncio.create_task(keep_watchdog_calm(os.environ))
        notify(os.environ, "READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Notify systemd that the server is stopping, then stop it."""
        notify(os.environ, "STOPPING=1")
        await super().shutdown(sockets)
        if self._alive:
            self._alive.cancel()
