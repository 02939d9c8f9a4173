# SPDX-License-Identifier: Apache-2.0
"""States of the forwarders, which are checked with connections again and again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass

from reprise.config import host_and_port

TIMEOUT_S = 2.0
"""Seconds that a forwarder may take to accept a connection."""
AGAIN_S = 1.0
"""Seconds until a result that differs from the forwarder's state is checked."""
IN_A_ROW = 2
"""Number of equal results in a row that change a forwarder's state: one may be chance."""


@dataclass
class _Forwarder:
    works: bool | None = None  # None: not checked yet
    reason: str = ""
    against: int = 0  # results in a row that differ from the state
    due: float = 0.0


class Health:
    """States of the forwarders, from the results of checks. Times are those of one monotonic clock."""

    def __init__(self, addresses: Sequence[str], every_s: float) -> None:
        self._all = {address: _Forwarder() for address in addresses}
        self._every_s = every_s

    @property
    def is_known(self) -> bool:
        """Whether each forwarder was checked at least once."""
        return all(one.works is not None for one in self._all.values())

    @property
    def working(self) -> Sequence[str]:
        """Addresses of the forwarders that work, in their configured order."""
        return [address for address, one in self._all.items() if one.works]

    @property
    def states(self) -> Sequence[tuple[str, bool, str]]:
        """Address, whether it works, and the error if not, of each forwarder that was checked."""
        return [(address, one.works, one.reason) for address, one in self._all.items() if one.works is not None]

    def due(self, now: float) -> Sequence[str]:
        """Return the addresses to check now."""
        return [address for address, one in self._all.items() if one.due <= now]

    def next_due(self) -> float:
        """Return when the next check is due."""
        return min(one.due for one in self._all.values())

    def take(self, address: str, error: str, now: float) -> bool:
        """Take the result of a check: the error, "" if there was none. Return whether the forwarder's state changes."""
        one, works = self._all[address], not error
        one.against = 0 if works is one.works else one.against + 1
        changes = one.works is None or one.against >= IN_A_ROW
        if changes:
            one.works, one.against, one.reason = works, 0, error
        one.due = now + (min(AGAIN_S, self._every_s) if one.against else self._every_s)
        return changes


async def check(address: str, timeout_s: float = TIMEOUT_S) -> str:
    """Connect to a forwarder and disconnect; return the error in a few words, "" if there was none."""
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await opened(address)
    except TimeoutError:
        return f"no connection within {timeout_s:g} s"
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    writer.close()
    return ""


async def opened(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a forwarder. Raise OSError."""
    if address.startswith("/"):
        return await asyncio.open_unix_connection(address)
    return await asyncio.open_connection(*host_and_port(address))
