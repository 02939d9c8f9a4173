# SPDX-License-Identifier: Apache-2.0
"""A client of the daemon in Python, for our own commands and for tests; jobs are served by the plugin, in C."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matcher import protocol
from matcher.errors import DaemonUnreachableError, ProtocolError

PING = {"v": protocol.VERSION, "kind": "ping"}


def explain_request(job: str) -> dict[str, Any]:
    """Why a job of the caller's got what it got."""
    return {"v": protocol.VERSION, "kind": "explain", "job": job}


def ask(
    path: Path, message: Mapping[str, Any], timeout_s: float = 1.0, limit: int = protocol.REPLY_LIMIT
) -> dict[str, Any]:
    """Send one request and return the reply, at most `limit` bytes. `timeout_s` holds for each step.

    Raises DaemonUnreachableError where nobody answers, ProtocolError where what comes is not a reply.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            connection.sendall(protocol.frame(message, protocol.REQUEST_LIMIT))
            with connection.makefile("rb") as stream:
                header = stream.read(protocol.HEADER_BYTES)
                if len(header) < protocol.HEADER_BYTES:
                    raise ProtocolError(f"{path}: the daemon closed without an answer: see its log")
                body = stream.read(protocol.body_length(header, limit))
    except PermissionError as error:
        raise DaemonUnreachableError(
            f"{path}: this user may not connect: every user must be able to enter its directory and to write to it"
        ) from error
    except OSError as error:
        raise DaemonUnreachableError(
            f"{path}: no matcher answers ({error.strerror or error}): start it with `systemctl start reprise-matcher`"
        ) from error
    return protocol.read_message(body)
