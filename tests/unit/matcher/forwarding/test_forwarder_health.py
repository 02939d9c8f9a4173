# SPDX-License-Identifier: Apache-2.0
"""Test when forwarders leave the pool and come back, and how they are checked."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.forwarding.forwarder_health import AGAIN_S, Health, check
from tests.examples import examples

A, B = "10.0.1.1:5640", "10.0.1.2:5640"


def test_the_first_check_decides() -> None:
    health = Health([A, B], 5.0)
    assert not health.is_known and health.due(0.0) == [A, B]
    assert health.take(A, "", 1.0) and health.take(B, "Connection refused", 1.0)
    assert health.is_known and health.working == [A]
    assert health.states == [(A, True, ""), (B, False, "Connection refused")]


def test_a_result_that_differs_is_checked_soon_and_counts_if_it_is_confirmed() -> None:
    health = Health([A], 5.0)
    health.take(A, "", 0.0)
    assert health.next_due() == 5.0
    assert not health.take(A, "timed out", 5.0) and health.working == [A]
    assert health.next_due() == 5.0 + AGAIN_S and health.due(5.5) == []
    assert health.take(A, "timed out", 6.0) and health.working == []


def test_a_single_failure_changes_nothing() -> None:
    health = Health([A], 5.0)
    for error in ("", "timed out", "", "timed out", "", "timed out"):
        health.take(A, error, 0.0)
    assert health.working == [A]


@given(st.lists(st.sampled_from(["", "refused"]), min_size=1, max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_the_state_is_that_of_the_last_two_equal_results(results: list[str]) -> None:
    health = Health([A], 5.0)
    expected = not results[0]
    for number, result in enumerate(results):
        health.take(A, result, float(number))
        if number and results[number - 1] == result:
            expected = not result
        assert bool(health.working) is expected


def test_forwarders_are_checked_by_connecting(tmp_path: Path) -> None:
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        unix.bind(str(tmp_path / "socket"))
        address = f"127.0.0.1:{tcp.getsockname()[1]}"
        assert asyncio.run(check(address)) == "Connection refused"
        tcp.listen()
        unix.listen()
        assert asyncio.run(check(address)) == asyncio.run(check(str(tmp_path / "socket"))) == ""
    assert asyncio.run(check(str(tmp_path / "none"))) == "No such file or directory"


def test_a_forwarder_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]  # the kernel drops further connections of a full queue
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        assert asyncio.run(check(f"127.0.0.1:{address[1]}", 0.1)) == "no connection within 0.1 s"
        for one in waiting:
            one.close()
