# SPDX-License-Identifier: Apache-2.0
"""Where a daemon listens, as the plugin's argument endpoint= names it (spank/endpoint.c reads it there)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reprise import config


@dataclass(frozen=True)
class Endpoint:
    """A Unix socket at `path` or, where that is None, a TCP port."""

    path: Path | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.path else f"tcp:{host}:{self.port}"


DEFAULT = Endpoint(config.SOCKET_PATH)


def parse(text: str) -> Endpoint | None:
    """`unix:/path`, `tcp:host:port` or `tcp:[address]:port`; None for anything else."""
    try:
        return Endpoint(*config.path_or_host(text))
    except ValueError:
        return None


def configured(matcher: config.Matcher) -> list[Endpoint]:
    """Where commands ask, in this order."""
    named = [parse(text) for text in matcher.endpoints]
    return [one for one in named if one] or [Endpoint(matcher.socket)]
