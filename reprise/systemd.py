# SPDX-License-Identifier: Apache-2.0
"""Receive sockets from systemd (sd_listen_fds(3)), and report a service's state to systemd (sd_notify(3))."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping, MutableMapping, Sequence

from reprise.errors import PassedSocketError

FIRST_PASSED_DESCRIPTOR = 3


def passed_listener(environment: MutableMapping[str, str], families: Sequence[int]) -> socket.socket | None:
    """Return the listening stream socket that systemd passed, or None if it passed none.

    Systemd's variables are removed from the environment, so that children do not inherit them. Raise PassedSocketError
    if systemd passed anything else, or if the socket's family is not one of `families`.
    """
    count = environment.pop("LISTEN_FDS", "")
    process = environment.pop("LISTEN_PID", "")
    environment.pop("LISTEN_FDNAMES", None)
    if process != str(os.getpid()) or count in ("", "0"):
        return None
    if count != "1":
        raise PassedSocketError(
            f"systemd passed {count} sockets (LISTEN_FDS): give the socket unit exactly one ListenStream"
        )
    try:
        listener = socket.socket(fileno=FIRST_PASSED_DESCRIPTOR)
        listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if listener.family not in families or listener.type != socket.SOCK_STREAM or not listening:
            raise OSError("another kind")
    except OSError as error:
        kind = "stream socket" if len(families) > 1 else "Unix stream socket"
        raise PassedSocketError(
            f"the socket that systemd passed (LISTEN_FDS) is not a listening {kind} ({error}): correct ListenStream"
        ) from error
    listener.set_inheritable(False)
    return listener


def notify(environment: Mapping[str, str], *states: str) -> None:
    """Send states such as `READY=1` to the service manager; do nothing if it does not exist or cannot be reached."""
    address = environment.get("NOTIFY_SOCKET", "")
    if address:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto("\n".join(states).encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)


def watchdog_interval_s(environment: Mapping[str, str]) -> float | None:
    """Return the interval between watchdog messages in seconds, half the allowed time; None if the watchdog is off."""
    allowed_us = environment.get("WATCHDOG_USEC", "")
    watched = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(allowed_us) / 2e6 if watched and allowed_us.isdecimal() and int(allowed_us) > 0 else None


async def keep_watchdog_calm(environment: Mapping[str, str]) -> None:
    """Send watchdog messages at regular intervals from the event loop that serves requests.

    If the loop hangs, the messages stop, and systemd restarts the service.
    """
    interval_s = watchdog_interval_s(environment)
    while interval_s:
        notify(environment, "WATCHDOG=1")
        await asyncio.sleep(interval_s)
