# SPDX-License-Identifier: Apache-2.0
"""Addresses at which matchers listen, written as in the plugin's argument endpoint= (see spank/endpoint.c)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reprise import config


@dataclass(frozen=True)
class Endpoint:
    """Address of a matcher: the Unix socket at `path`, or, if `path` is None, TCP port `port` on `host`."""

    path: Path | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.path else f"tcp:{host}:{self.port}"


DEFAULT = Endpoint(config.SOCKET_PATH)


def parse(text: str) -> Endpoint | None:
    """Parse `unix:/path`, `tcp:host:port` or `tcp:[address]:port`; return None for anything else."""
    try:
        return Endpoint(*config.path_or_host(text))
    except ValueError:
        return None


def configured(matcher: config.Matcher) -> list[Endpoint]:
    """Return the endpoints to which commands send requests, in the order in which they are tried."""
    named = [parse(text) for text in matcher.endpoints]
    return [one for one in named if one] or [Endpoint(matcher.socket)]
