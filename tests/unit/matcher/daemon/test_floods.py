# SPDX-License-Identifier: Apache-2.0
"""Test that floods of requests from one user do not affect other users."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.trust.senders import Sender, hold
from reprise.config import load as load_config
from reprise.matcher.daemon import connections, pending_writes, stored_volume
from reprise.matcher.daemon import service as service_module
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.peer import UNKNOWN
from reprise.matcher.daemon.pending_writes import Queue
from reprise.matcher.daemon.service import INLINE_BYTES, Service
from reprise.matcher.decision.decide import Decided, answered
from reprise.matcher.submission import stored_metadata
from reprise.matcher.wire import protocol
from tests.places import ROOT
from tests.unit.matcher_daemon import SCRIPT, Daemon, request
from tests.waiting import wait_for

ALICE, MALLORY = 2001, 2002
LONG = SCRIPT + "# a comment\n" * 1000


def test_the_administrators_page_states_the_limits_in_the_code() -> None:
    page = " ".join((ROOT / "docs/reference/limits.md").read_text(encoding="utf-8").split())
    mib = 2**20
    for words in (
        f"{service_module.ASKED_AT_ONCE:,} in a burst, then {service_module.ASKED_PER_S} a second",
        f"counts once for each started {INLINE_BYTES // 1024} KiB",
        f"{service_module.REPORTED_AT_ONCE:,} in a burst, then {service_module.REPORTED_PER_S} a second",
        f"1/{connections.SHARE} of `max_connections` served at once",
        f"connections wait (at most {connections.WAITING:,} for all users together)",
        f"the free part of a {pending_writes.BACKLOG_BYTES // mib} MiB buffer",
        f"in a decision | {stored_metadata.STORED_LIMIT // 1024} KiB",
        f"{stored_volume.AT_ONCE_BYTES // mib} MiB in a burst, then {stored_volume.A_DAY_BYTES // mib} MiB a day",
        f"{stored_volume.SHORT_BELOW_BYTES // mib} MiB or more",
        f"less than {stored_volume.EVIDENCE_BYTES // mib} MiB",
    ):
        assert words in page, words


@pytest.fixture
def service(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(service_module, "ASKED_AT_ONCE", 10)
    monkeypatch.setattr(service_module, "REPORTED_AT_ONCE", 3)
    monkeypatch.setattr(service_module, "ASKED_PER_S", 0)
    monkeypatch.setattr(service_module, "REPORTED_PER_S", 0)
    return Service(Basis(lambda: load_config(daemon.config)), Queue().put, Queue().put_unmade)


def asked(service: Service, uid: int, message: dict[str, Any], times: int = 1) -> list[str]:
    """Send a message `times` times, and return the kind of each reply, or the reason if the reply is an error."""

    async def ask() -> list[str]:
        body = json.dumps(message).encode()
        replies = [(await service.answer(body, uid))[0] for _ in range(times)]
        return [reply.get("reason", "") if reply["kind"] == "error" else reply["kind"] for reply in replies]

    return asyncio.run(ask())


def ended(uid: int) -> dict[str, Any]:
    job = {"id": 7, "array_task": None, "uid": uid, "cluster": "test"}
    said = {"state": "ended", "elapsed_s": 1.0, "exit_status": 0, "decision": None, "verdict": "none", "applied": 0}
    return {"v": 1, "kind": "outcome", **said, "job": job}


def test_only_the_user_who_asks_too_often_is_refused(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    assert asked(service, MALLORY, request(), 12) == ["decision"] * 10 + [protocol.NOT_NOW] * 2
    assert asked(service, ALICE, request()) == ["decision"]
    assert (service.is_over(MALLORY), service.is_over(ALICE)) == (True, False)
    assert f"event=not-now why=rate uid={MALLORY}" in caplog.text
    assert asked(service, os.geteuid(), request(), 20) == ["decision"] * 20, (
        "the user who runs the matcher has no limit"
    )


def test_a_connection_without_a_request_counts_as_a_request(service: Service) -> None:
    for uid in (MALLORY, 0, UNKNOWN):
        for _ in range(10):
            service.count(uid)
    assert [service.is_over(uid) for uid in (MALLORY, ALICE, 0, UNKNOWN)] == [True, False, False, False]


def test_a_long_request_counts_as_several(service: Service) -> None:
    long = request(LONG)
    assert len(json.dumps(long)) > INLINE_BYTES
    assert asked(service, MALLORY, long, 6) == ["decision"] * 5 + [protocol.NOT_NOW]


def test_a_report_by_root_counts_for_the_jobs_user_in_a_limit_of_its_own(service: Service) -> None:
    assert asked(service, MALLORY, request(), 11)[-1] == protocol.NOT_NOW
    assert asked(service, 0, ended(MALLORY), 4) == ["ok"] * 3 + [protocol.NOT_NOW]
    assert asked(service, 0, ended(ALICE)) == ["ok"]


def test_long_requests_of_one_user_delay_no_other_user(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "ASKED_AT_ONCE", 100)
    alice_is_answered = threading.Event()

    def decide(question: Any, *arguments: Any) -> Decided:
        if question.uid == MALLORY:
            assert alice_is_answered.wait(10)
        return answered(question, *arguments)

    monkeypatch.setattr(service_module, "answered", decide)

    async def play() -> None:
        body = json.dumps(request(LONG)).encode()
        flood = [asyncio.create_task(service.answer(body, MALLORY)) for _ in range(3)]
        await asyncio.sleep(0)
        assert (await asyncio.wait_for(service.answer(body, ALICE), 10))[0]["kind"] == "decision"
        alice_is_answered.set()
        assert [(await one)[0]["kind"] for one in flood] == ["decision"] * 3

    asyncio.run(play())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another user")
def test_another_user_is_answered_at_once_despite_many_incomplete_requests(daemon: Daemon) -> None:
    daemon.start()
    nobody = pwd.getpwnam("nobody").pw_uid
    holding = Sender(nobody, daemon.socket, partial(hold, daemon.socket.name, 600, 60.0))
    try:
        descriptors = Path(f"/proc/{daemon.process.pid}/fd") if daemon.process else Path()
        wait_for("the connections", lambda: len(list(descriptors.iterdir())) > 600)
        begun = time.monotonic()
        for _ in range(20):
            assert daemon.ask(request(), timeout_s=1.0)["kind"] == "decision"
        assert time.monotonic() - begun < 2.0, "answers do not wait until an incomplete request times out"
    finally:
        holding.end()
