# SPDX-License-Identifier: Apache-2.0
"""Limits for connections: the time that a client may take to send a request, and the number of connections."""

from __future__ import annotations

import asyncio
from collections import Counter
from ipaddress import ip_address

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds within which a complete request must arrive, enough for 256 KiB over a slow line. On a persistent connection,
# the time starts at the end of the previous response.
REQUEST_S = 10.0

MOST_ASKING = 100
"""Maximum number of connections that wait for a complete request: half of all connections that the server accepts
(`reprise.cli.web`)."""
MOST_OF_ADDRESS = 100
"""Maximum number of connections from one address. More are allowed from this host's own addresses, because a reverse
proxy connects on behalf of all its clients."""


class Patient(H11Protocol):
    """HTTP connection that is closed if no complete request arrives in time, or if there are too many connections.

    Uvicorn's `limit_concurrency` counts idle connections too, so without these limits, many idle connections could lock
    everybody out.
    """

    _asking: asyncio.TimerHandle | None = None
    _since = 0.0  # time at which the connection began to wait for a request, by the event loop's clock

    @property
    def address(self) -> str:
        """The client's address, or "" for a Unix socket."""
        return self.client[0] if self.client else ""

    @property
    def is_asking(self) -> bool:
        """Whether the connection is still waiting for a complete request."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request, and close a connection if there are too many connections."""
        super().connection_made(transport)
        self._wait_for_a_request()
        self._make_room()

    def on_response_complete(self) -> None:
        """Start the timer for the next request."""
        self._wait_for_a_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer, because the connection has ended."""
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
        """Close this connection if its address has too many; otherwise, if too many are waiting, close a waiting one.

        A connection is waiting until its client has sent a complete request. If too many are waiting, the method finds
        the address with the most waiting connections, and closes that address's longest-waiting connection.
        """
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
    """Return whether a client connects from this host, by a Unix socket or a loopback address.

    Such a client may be a reverse proxy, whose connections come from many users.
    """
    return not address or ip_address(address.partition("%")[0]).is_loopback
