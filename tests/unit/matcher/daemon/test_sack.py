# SPDX-License-Identifier: Apache-2.0
"""Test that one TCP port of the daemon accepts Slurm tokens and munge credentials, but no replayed tokens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprise.config import load as load_config
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.peer import CREDENTIAL_THREADS, credential_greeter
from reprise.matcher.daemon.pending_writes import Queue
from reprise.matcher.daemon.quiet_time import Quiet
from reprise.matcher.daemon.server import Server
from reprise.matcher.daemon.service import Service
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import PING, ask_over_tcp
from reprise.matcher.wire.credentials import Method
from reprise.matcher.wire.munge import Munge
from reprise.matcher.wire.sack import Sack
from tests.fake_sack import FakeSack
from tests.munged import Munged
from tests.unit.matcher_daemon import Daemon
from tests.waiting import wait_for

UID = os.geteuid()
NONCE = b"0123456789abcdef"


class Served:
    """The daemon's server in a thread of the test; unlike the whole daemon, it serves tokens even if run as root."""

    def __init__(self, directory: Path, sack: FakeSack, munged: Munged) -> None:
        self.sack = sack
        self.methods: dict[Any, Method] = {"munge": Munge(str(munged.socket)), "slurm": Sack(str(sack.socket))}
        self.config = Daemon(directory).config

    @contextlib.contextmanager
    def running(self) -> Iterator[Served]:
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        loop, stop = asyncio.new_event_loop(), asyncio.Event()
        thread = threading.Thread(target=lambda: loop.run_until_complete(self._serve(listener, stop)))
        thread.start()
        yield self
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()

    async def _serve(self, listener: socket.socket, stop: asyncio.Event) -> None:
        queue = Queue()
        service = Service(Basis(lambda: load_config(self.config)), queue.put, queue.put_unmade)
        greet = credential_greeter(self.methods)
        await Server(listener, greet, service.answer, Quiet(queue), max_connections=8, timeout_s=2.0).serve(stop)

    def ask(self, message: dict[str, Any], method: str = "slurm") -> dict[str, Any]:
        return ask_over_tcp("127.0.0.1", self.port, message, self.methods[method], matcher_uid=UID, timeout_s=5.0)

    def send(self, credential: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(protocol.framed(credential))
            with connection.makefile("rb") as stream:
                return stream.read()

    def token(self, message: object = PING, **changes: Any) -> bytes:
        return self.sack.token(NONCE + json.dumps(message).encode(), UID, UID, **changes)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with (
        FakeSack() as sack,
        Munged() as munged,
        Served(tmp_path_factory.mktemp("daemon"), sack, munged).running() as one,
    ):
        yield one


def test_one_port_accepts_both_kinds_of_credentials(served: Served) -> None:
    assert [served.ask(PING, method)["kind"] for method in ("slurm", "munge", "slurm")] == ["ok"] * 3


def test_a_token_is_accepted_once(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    token = served.token()
    assert served.send(token)
    assert served.send(token) == b""
    assert "the token was used before" in caplog.text
    assert served.send(served.token({**PING, "more": 1}))


def test_a_token_from_before_the_start_is_refused(served: Served) -> None:
    assert served.send(served.token({**PING, "more": 2}, iat=1_700_000_000)) == b""


def test_an_answer_is_a_token_for_the_caller_alone(served: Served) -> None:
    answer = served.send(served.token({**PING, "more": 3}))[4:]
    opened = Sack(str(served.sack.socket)).open(answer)
    assert opened.uid == UID and opened.payload.startswith(NONCE)


@pytest.mark.parametrize("changes", [{"context": "auth"}, {"ruid": UID + 1}, {"exp": 1}, {"payload": None}])
def test_a_token_that_is_not_for_the_matcher_gets_no_answer(served: Served, changes: dict[str, Any]) -> None:
    assert served.send(served.token({**PING, "more": 4}, **changes)) == b""


def test_a_token_for_the_pages_is_not_sent_where_others_can_read_it(served: Served) -> None:
    request = {"v": 1, "kind": "token"}
    assert "others could read it on the network" in served.ask(request)["reason"]
    assert served.ask(request, "munge")["kind"] == "token"


def test_a_slow_daemon_of_slurm_delays_no_client_of_munge(served: Served) -> None:
    served.sack.hangs = True
    asked = len(served.sack.asked)
    with contextlib.ExitStack() as stack:
        for number in range(CREDENTIAL_THREADS):  # from different hosts, because one host may not use all threads
            waiting = socket.create_connection(("127.0.0.1", served.port), 10, (f"127.0.0.{2 + number}", 0))
            stack.enter_context(waiting).sendall(protocol.framed(served.token({**PING, "more": 5 + number})))
        wait_for("a request to Slurm", lambda: len(served.sack.asked) > asked)
        assert served.ask(PING, "munge")["kind"] == "ok"
    served.sack.hangs = False
