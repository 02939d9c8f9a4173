# SPDX-License-Identifier: Apache-2.0
"""Test that journal entries are made while no client waits, in order and without loss."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.matcher.daemon import pending_writes, quiet_time
from reprise.matcher.daemon.peer import UnixPeer
from reprise.matcher.daemon.pending_writes import Entry, Queue, Unmade
from reprise.matcher.daemon.quiet_time import Quiet
from reprise.matcher.daemon.server import Server
from reprise.matcher.wire import protocol


class Site:
    """A server that numbers its requests, run in the test's event loop; `asked` is the number of requests."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.path)
        listener.listen()
        self.queue = Queue()
        self._made: list[str] = []
        self.asked = 0
        self.server = Server(
            listener,
            UnixPeer,
            self._answer,
            Quiet(self.queue),
            max_connections=50,
            timeout_s=5.0,
        )

    @property
    def made(self) -> list[str]:
        """Log lines of the entries made so far."""
        self._made += self.queue.take_lines()
        return self._made

    async def _answer(self, body: bytes, uid: int, is_secret: bool) -> tuple[dict[str, object], Unmade]:
        assert (uid, is_secret) == (os.getuid(), True)
        self.asked += 1
        number = str(self.asked)
        return {"kind": "ok"}, Unmade(uid, 0, lambda: Entry(number, Database.close, uid=uid))

    async def ask(self) -> None:
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(protocol.frame({"v": 1, "kind": "ping"}, 1000))
        await reader.read()
        writer.close()

    def run(self, play: Callable[[], Awaitable[None]]) -> None:
        async def both() -> None:
            stop = asyncio.Event()
            serving = asyncio.create_task(self.server.serve(stop))
            await asyncio.sleep(0)
            await play()
            stop.set()
            await serving

        asyncio.run(both())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.chdir(tmp_path)  # lets the site use a relative path, because a socket's path must be short
    return Site(Path("s"))


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not seen():
            await asyncio.sleep(0.02)


def numbers(count: int) -> list[str]:
    return [str(number + 1) for number in range(count)]


@pytest.mark.slow
def test_entries_are_made_only_when_no_client_asks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet_time, "QUIET_S", 2.0)  # long enough for a busy machine
    monkeypatch.setattr(pending_writes, "MOST_UNMADE", 100_000)

    async def play() -> None:
        begun = time.monotonic()
        while time.monotonic() < begun + 0.5:
            await site.ask()
        assert site.made == []
        await until(lambda: len(site.made) >= site.asked)
        assert site.made == numbers(site.asked)

    site.run(play)


def test_when_many_entries_wait_one_is_made_with_each_reply(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet_time, "QUIET_S", 5.0)
    monkeypatch.setattr(pending_writes, "MOST_UNMADE", 3)

    async def play() -> None:
        for _ in range(10):
            await site.ask()
        await until(lambda: len(site.made) >= 7)
        assert site.made == numbers(7)

    site.run(play)
    assert len(site.queue) == 10, "the other entries are made when the daemon stops"


def test_a_silent_connection_delays_no_entry(site: Site) -> None:
    async def play() -> None:
        _, writer = await asyncio.open_unix_connection(site.path)
        await site.ask()
        await until(lambda: bool(site.made))
        assert site.made == ["1"]
        writer.close()

    site.run(play)
