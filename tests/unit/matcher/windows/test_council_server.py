# SPDX-License-Identifier: Apache-2.0
"""Test the connections of the council's server with made-up proofs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reprise.matcher.council.council_settings import CouncilSettings
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.window_council import Council
from reprise.matcher.windows import council_server
from reprise.matcher.windows.council_credentials import Proven
from reprise.matcher.windows.council_metrics import REASONS
from reprise.matcher.windows.council_server import CouncilServer
from reprise.matcher.windows.deliberation import Deliberation
from reprise.matcher.windows.job_consent import Consents
from reprise.matcher.windows.report_message import LONGEST
from reprise.matcher.wire.credentials import CredentialError
from tests.unit.matcher.council.council_values import seeded
from tests.unit.matcher.windows.simple_detector import SimpleDetector
from tests.unit.matcher.windows.windows_values import sent

OTHER = "fedcba9876543210"


class Names:
    """Proof of lines that begin with a user's number."""

    def open(self, line: bytes) -> Proven:
        uid, _, text = line.partition(b" ")
        if uid not in (b"0", b"7"):
            raise CredentialError(f"user {uid!r}")
        return Proven(text, int(uid))

    def seal(self, text: bytes, reader: int) -> bytes:
        return b"%d %s" % (reader, text)


class Connected:
    """A connection of a forwarder, or of a stranger."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, uid: int = 0, **changes: Any) -> None:
        self.writer.write(b"%d %s\n" % (uid, json.dumps(sent(**changes)).encode()))

    async def decision(self) -> tuple[int, dict[str, Any]]:
        uid, _, text = (await asyncio.wait_for(self.reader.readline(), 30)).partition(b" ")
        return int(uid), json.loads(text)

    async def is_closed(self) -> bool:
        with suppress(ConnectionError):
            while await asyncio.wait_for(self.reader.read(1 << 16), 30):
                pass
        return True


Play = Callable[[CouncilServer, Callable[[], Awaitable[Connected]], list[Report]], Awaitable[None]]


def played(path: Path, play: Play) -> CouncilServer:
    """Run a server on a Unix socket while `play` runs, and return it."""

    async def run() -> CouncilServer:
        reports: list[Report] = []
        council = Council(CouncilSettings(timeout=0.3), seeded(1))
        server = CouncilServer(Deliberation(council, SimpleDetector(), Consents("all")), Names(), reports.append)
        listener = await asyncio.start_unix_server(server.talk, path / "socket", limit=LONGEST)
        deciding = asyncio.create_task(server.decide())

        async def connect() -> Connected:
            return Connected(*await asyncio.open_unix_connection(path / "socket"))

        try:
            await play(server, connect, reports)
        finally:
            deciding.cancel()
            listener.close()
            server.close()
        return server

    return asyncio.run(run())


def test_a_report_is_answered_for_its_connection_and_its_user(tmp_path: Path) -> None:
    async def play(server: CouncilServer, connect: Callable[[], Awaitable[Connected]], reports: list[Report]) -> None:
        one = await connect()
        one.send(7, nonce=OTHER)
        uid, decision = await one.decision()
        assert (uid, decision["nonce"], decision["number"]) == (7, OTHER, 1)
        assert [report.host for report in reports] == ["ion1:0"] and server.members == 1

    assert not played(tmp_path, play).refused


def test_a_decision_is_announced_to_all_forwarders_also_to_one_that_is_late(tmp_path: Path) -> None:
    async def play(server: CouncilServer, connect: Callable[[], Awaitable[Connected]], reports: list[Report]) -> None:
        one, two = await connect(), await connect()
        one.send(number=1)
        await one.decision()
        two.send(number=2)
        first = (await two.decision())[1]["number"]
        assert (await one.decision())[1]["number"] == first
        one.send(number=1)  # the other one does not report
        assert (await one.decision())[1]["number"] == (await two.decision())[1]["number"] == first + 1
        assert server.deliberation.counts.missed >= 1

    played(tmp_path, play)


def test_a_forwarder_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    async def play(server: CouncilServer, connect: Callable[[], Awaitable[Connected]], reports: list[Report]) -> None:
        one, two = await connect(), await connect()
        for number, connected in ((1, one), (2, two)):
            connected.send(number=number)
            await connected.decision()
        two.writer.close()
        while server.members == 2:
            await asyncio.sleep(0.001)
        missed = server.deliberation.counts.missed
        one.send(number=1)
        await one.decision()
        assert server.deliberation.counts.missed == missed

    played(tmp_path, play)


def test_a_forwarder_that_is_back_replaces_its_old_connection(tmp_path: Path) -> None:
    async def play(server: CouncilServer, connect: Callable[[], Awaitable[Connected]], reports: list[Report]) -> None:
        one, two = await connect(), await connect()
        one.send()
        await one.decision()
        two.send(nonce=OTHER)
        assert (await two.decision())[1]["nonce"] == OTHER
        assert await one.is_closed() and server.members == 1

    played(tmp_path, play)


REFUSED: dict[str, tuple[str, bytes]] = {
    "another user": ("credential", b"1 {}\n"),
    "no credential": ("credential", b"hello\n"),
    "no report": ("malformed", b"0 {}\n"),
    "a long line": ("malformed", b"0" * (2 * LONGEST) + b"\n"),
    "a flood": ("flood", (b"0 " + json.dumps(sent()).encode() + b"\n") * 100),
    "another name": ("malformed", b"".join(b"0 %s\n" % json.dumps(sent(number)).encode() for number in (0, 1))),
    "another nonce": (
        "malformed",
        b"".join(b"0 %s\n" % json.dumps(sent(nonce=one)).encode() for one in (OTHER, "a" * 16)),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_connection_is_refused(tmp_path: Path, what: str) -> None:
    why, text = REFUSED[what]

    async def play(server: CouncilServer, connect: Callable[[], Awaitable[Connected]], reports: list[Report]) -> None:
        one = await connect()
        one.writer.write(text)
        assert await one.is_closed() and len(reports) < 20
        good = await connect()
        good.send(number=9)
        await good.decision()

    assert played(tmp_path, play).refused == {why: 1}
    assert why in REASONS


def test_a_silent_connection_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(council_server, "HELLO_S", 0.05)

    async def play(server: CouncilServer, connect: Callable[[], Awaitable[Connected]], reports: list[Report]) -> None:
        assert await (await connect()).is_closed()

    assert played(tmp_path, play).refused == {"silent": 1}


def test_strangers_make_room_for_forwarders_and_never_the_reverse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(council_server, "CONNECTIONS", 4)

    async def play(server: CouncilServer, connect: Callable[[], Awaitable[Connected]], reports: list[Report]) -> None:
        members = [await connect() for _ in range(3)]
        for number, one in enumerate(members):
            one.send(number=number)
            await one.decision()
        strangers = [await connect() for _ in range(3)]
        assert await strangers[0].is_closed() and await strangers[1].is_closed()
        fourth = await connect()
        fourth.send(number=3)
        await fourth.decision()
        assert await (await connect()).is_closed()  # all are forwarders
        assert server.members == 4

    assert played(tmp_path, play).refused == {"full": 4}
