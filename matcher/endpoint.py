# SPDX-License-Identifier: Apache-2.0
"""Where a daemon listens, as the plugin's argument endpoint= names it (spank/endpoint.c reads it there)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from matcher.listener import SOCKET_PATH_LIMIT
from reprise.config import SOCKET_PATH, host_and_port


@dataclass(frozen=True)
class Endpoint:
    """A Unix socket at `path` or, where that is None, a TCP port."""

    path: Path | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.path else f"tcp:{host}:{self.port}"


DEFAULT = Endpoint(SOCKET_PATH)


def parse(text: str) -> Endpoint | None:
    """`unix:/path`, `tcp:host:port` or `tcp:[address]:port`; None for anything else."""
    kind, _, rest = text.partition(":")
    if kind == "unix" and rest.startswith("/") and len(os.fsencode(rest)) <= SOCKET_PATH_LIMIT:
        return Endpoint(Path(rest))
    if kind == "tcp":
        try:
            host, port = host_and_port(rest)
        except ValueError:
            return None
        return Endpoint(None, host, port)
    return None
