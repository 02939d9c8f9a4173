# SPDX-License-Identifier: Apache-2.0
"""How long who connects may take to ask."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0  # for a whole request: 256 KiB over a slow line; of a connection that is kept, from the last answer on


class Patient(H11Protocol):
    """A connection that is closed where no whole request comes in time: connections that say nothing count as others do
    (uvicorn's `limit_concurrency`), and enough of them would keep everybody out."""

    _asking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_a_request()

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

    def _end_unless_asked(self) -> None:
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self.transport.close()
