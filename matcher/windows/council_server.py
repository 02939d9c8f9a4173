# SPDX-License-Identifier: Apache-2.0
"""Server of the council: connections of forwarders, their reports, and the decisions that are sent to them.

Strangers can connect too. They have five seconds for a first line, which must be believed, and their lines are examined
in a thread of their own. A line costs at most its length limit of memory and a call of munge.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from reprise.eventlog import Throttle, line
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.errors import ProtocolError
from reprise.matcher.windows import report_message
from reprise.matcher.windows.council_credentials import Proof, Proven
from reprise.matcher.windows.deliberation import Announcement, Deliberation
from reprise.matcher.windows.report_message import ForwarderMessage
from reprise.matcher.wire.credentials import CredentialError

log = logging.getLogger(__name__)

CONNECTIONS = 1024
"""Maximum number of connections; a further one replaces the oldest that has sent no report that was believed."""
HELLO_S = 5.0
"""Seconds until the first report."""
SILENCE_S = 30.0
"""Seconds between two reports after which a connection is closed; forwarders report every second."""
REPORTS_PER_S, REPORTS_AT_ONCE = 4.0, 8.0
"""Reports of a connection: on average, and at once. More close it."""
UNSENT_BYTES = 65_536
"""Decisions that a forwarder does not read, in bytes, after which its connection is closed."""
THREADS = 4


class _RefusedError(Exception):
    """A connection is closed; the argument is the label of the metric and the log."""


class _Peer:
    """A connection. It has a name and a nonce once a report was believed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, now: float) -> None:
        self.reader = reader
        self.writer = writer
        self.name = self.nonce = ""
        self.uid = 0
        self.news = asyncio.Event()
        self.sender: asyncio.Task[None] | None = None
        self._allowed = REPORTS_AT_ONCE
        self._at = now

    def is_flooding(self, now: float) -> bool:
        """Count a line, and return whether there are too many."""
        self._allowed = min(REPORTS_AT_ONCE, self._allowed + (now - self._at) * REPORTS_PER_S) - 1
        self._at = now
        return self._allowed < 0

    def abort(self) -> None:
        """Close the connection at once."""
        self.writer.transport.abort()


class CouncilServer:
    """Connections of forwarders. `record` is called with each report that was believed."""

    def __init__(
        self,
        deliberation: Deliberation,
        proof: Proof,
        record: Callable[[Report], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.deliberation = deliberation
        self.refused = Counter[str]()
        self.announcement: Announcement | None = None
        self._proof = proof
        self._record = record
        self._clock = clock
        self._peers: dict[_Peer, None] = {}  # in order of arrival
        self._members: dict[str, _Peer] = {}
        self._news = asyncio.Event()
        self._throttle = Throttle()
        self._for_members = ThreadPoolExecutor(THREADS, "council")
        self._for_strangers = ThreadPoolExecutor(1, "strangers")

    @property
    def members(self) -> int:
        """Number of forwarders that are connected."""
        return len(self._members)

    async def decide(self) -> None:
        """Decide whenever a round is over, and announce it."""
        while True:
            now = self._clock()
            if self.deliberation.is_over(now):
                self.announcement = self.deliberation.decide(now)
                for peer in self._members.values():
                    peer.news.set()
                continue
            self._news.clear()
            deadline = self.deliberation.deadline
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), None if deadline is None else max(0.0, deadline - now))

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection until it ends."""
        peer = _Peer(reader, writer, self._clock())
        self._peers[peer] = None
        try:
            self._make_room(peer)
            await self._listen(peer)
        except _RefusedError as refused:
            self._refuse(peer, str(refused), refused.__cause__)
        except TimeoutError:
            self._refuse(peer, "silent")
        except ConnectionError:
            pass
        finally:
            self._leave(peer)

    def close(self) -> None:
        """Close all connections."""
        for peer in list(self._peers):
            peer.abort()
        self._for_members.shutdown(wait=False, cancel_futures=True)
        self._for_strangers.shutdown(wait=False, cancel_futures=True)

    def _make_room(self, peer: _Peer) -> None:
        if len(self._peers) <= CONNECTIONS:
            return
        oldest = next((one for one in self._peers if not one.name), peer)
        if oldest is peer:
            raise _RefusedError("full")
        del self._peers[oldest]
        oldest.abort()
        self._refuse(oldest, "full")

    async def _listen(self, peer: _Peer) -> None:
        while True:
            try:
                text = await asyncio.wait_for(peer.reader.readline(), SILENCE_S if peer.name else HELLO_S)
            except ValueError as error:  # the line is longer than the limit
                raise _RefusedError("malformed") from error
            if not text.endswith(b"\n"):
                return
            if peer.is_flooding(self._clock()):
                raise _RefusedError("flood")
            message, proven = await self._believed(peer, text.rstrip(b"\n"))
            self._take(peer, message, proven)

    async def _believed(self, peer: _Peer, text: bytes) -> tuple[ForwarderMessage, Proven]:
        threads = self._for_members if peer.name else self._for_strangers
        try:
            proven = await asyncio.get_running_loop().run_in_executor(threads, self._proof.open, text)
        except CredentialError as error:
            raise _RefusedError("credential") from error
        try:
            return report_message.read(proven.text), proven
        except ProtocolError as error:
            raise _RefusedError("malformed") from error

    def _take(self, peer: _Peer, message: ForwarderMessage, proven: Proven) -> None:
        if not peer.name:
            self._join(peer, message, proven)
        elif (peer.name, peer.nonce) != (message.name, message.nonce):
            raise _RefusedError("malformed")
        if self._members.get(peer.name) is peer:
            self._record(self.deliberation.take(message, self._clock()))
            self._news.set()

    def _join(self, peer: _Peer, message: ForwarderMessage, proven: Proven) -> None:
        before = self._members.get(message.name)
        if before:  # its host has crashed, or two forwarders have one name
            self._throttle.warning(log, "replaced", forwarder=message.name)
            before.abort()
        peer.name, peer.nonce, peer.uid = message.name, message.nonce, proven.uid
        self._members[peer.name] = peer
        peer.sender = asyncio.create_task(self._send(peer))
        log.info(line("joined", forwarder=peer.name))

    async def _send(self, peer: _Peer) -> None:
        """Send each decision, or only the latest one if making credentials takes longer than a round."""
        while True:
            await peer.news.wait()
            peer.news.clear()
            if not self.announcement:
                continue
            of = self.announcement
            text = report_message.decision_line(peer.nonce, of.number, of.window, of.keep)
            loop = asyncio.get_running_loop()
            try:
                sealed = await loop.run_in_executor(self._for_members, self._proof.seal, text, peer.uid)
            except CredentialError as error:
                self._throttle.warning(log, "not-sealed", forwarder=peer.name, error=error)
                continue
            peer.writer.write(sealed + b"\n")
            if peer.writer.transport.get_write_buffer_size() > UNSENT_BYTES:
                peer.abort()

    def _refuse(self, peer: _Peer, why: str, error: BaseException | None = None) -> None:
        self.refused[why] += 1
        address = peer.writer.get_extra_info("peername")  # of TCP: a tuple with host and port
        host = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else None
        self._throttle.warning(log, "refused", why=why, forwarder=peer.name or None, peer=host, error=error)

    def _leave(self, peer: _Peer) -> None:
        self._peers.pop(peer, None)
        peer.writer.transport.abort()
        if peer.sender:
            peer.sender.cancel()
        if peer.name and self._members.get(peer.name) is peer:
            del self._members[peer.name]
            self.deliberation.leave(peer.name)
            self._news.set()
            log.info(line("left", forwarder=peer.name))
