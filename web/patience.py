# SPDX-License-Identifier: Apache-2.0
"""How long who connects may take to ask, and how many may do so at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from ipaddress import ip_address

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0  # for a whole request: 256 KiB over a slow line; of a connection that is kept, from the last answer on

MOST_ASKING = 100
"""Connections that have sent no whole request: half of all that are served (`reprise.cli.web`)."""
MOST_OF_ADDRESS = 100
"""Connections of one address; of this host's own there may be more, since a reverse proxy has all of its clients'."""


class Patient(H11Protocol):
    """A connection that is closed where no whole request comes in time, and before that where too many have sent none:
    connections that say nothing count as others do (uvicorn's `limit_concurrency`), and enough of them would keep
    everybody out."""

    _asking: asyncio.TimerHandle | None = None
    _since = 0.0  # when it began to ask, by the loop's clock

    @property
    def address(self) -> str:
        """Where it comes from; "" through a Unix socket."""
        return self.client[0] if self.client else ""

    @property
    def is_asking(self) -> bool:
        """Whether it has sent no whole request since its last answer."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_a_request()
        self._make_room()

    def on_response_complete(self) -> None:
        self._wait_for_a_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._asking:
            self._asking.cancel()
        super().connection_lost(exc)

    def _wait_for_a_request(self) -> None:
        if self._asking:
            self._asking.cancel()
        self._asking = self.loop.call_later(REQUEST_S, self._end_unless_asked)
        self._since = self.loop.time()

    def _end_unless_asked(self) -> None:
        if self.is_asking:
            self.transport.close()

    def _make_room(self) -> None:
        """Close this connection, where its address has too many; or where too many ask, the one that has done so for
        the longest time, of the address that has the most of them."""
        others = [one for one in self.connections if isinstance(one, Patient)]
        if not _is_own(self.address) and sum(one.address == self.address for one in others) > MOST_OF_ADDRESS:
            self.transport.close()
            return
        asking = [one for one in others if one.is_asking]
        if len(asking) > MOST_ASKING:
            of_address = Counter(one.address for one in asking)
            most = max(of_address.values())
            oldest = min((one for one in asking if of_address[one.address] == most), key=lambda one: one._since)
            oldest.transport.close()


def _is_own(address: str) -> bool:
    """Whether it is this host's, behind which a reverse proxy may have any clients."""
    return not address or ip_address(address.partition("%")[0]).is_loopback
