# SPDX-License-Identifier: Apache-2.0
"""Test limits: a client gets only some of the connections, and silent connections are closed if other clients wait."""

from __future__ import annotations

import asyncio

import pytest

from reprise.matcher.daemon import connections
from reprise.matcher.daemon.connections import HURRIED_S, SHARE, Places

MOST = 4 * SHARE
EACH = MOST // SHARE


def filled(places: Places[str], clients: int) -> None:
    for client in range(clients):
        while places.take(client):
            pass


def test_one_client_has_a_share_of_the_places_and_the_rest_wait() -> None:
    places = Places[str](MOST)
    taken = sum(places.take("mallory") for _ in range(100))
    assert taken == EACH and places.take("alice")
    assert places.wait("mallory", "m1") is None and places.next() is None
    places.leave("mallory")
    assert (places.next(), places.next()) == ("m1", None)


def test_waiting_clients_take_turns() -> None:
    places = Places[str](MOST)
    filled(places, SHARE)
    for one in ("m1", "m2", "m3", "a1"):
        assert places.wait(one[0], one) is None
    got = []
    for client in range(4):
        places.leave(client)
        got.append(places.next())
    assert got == ["m1", "a1", "m2", "m3"]


def test_when_too_many_wait_the_client_with_most_waiting_connections_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "WAITING", 3)
    places = Places[str](MOST)
    filled(places, SHARE)
    assert [places.wait("mallory", f"m{number}") for number in range(5)] == [None, None, None, "m3", "m4"]
    assert places.wait("alice", "a") == "m2"
    assert list(places.waiting()) == ["m0", "a", "m1"]


def test_when_all_places_are_taken_the_client_with_most_silent_connections_loses_one() -> None:
    async def silent(places: Places[str], client: int) -> str:
        try:
            async with asyncio.timeout(60) as patience:
                places.begin_asking(client, patience)
                await asyncio.sleep(60)
        except TimeoutError:
            places.end_asking(client, patience)
            places.leave(client)
            return "hurried"
        return "served"

    async def play() -> None:
        places = Places[str](MOST)
        filled(places, SHARE)
        held = [asyncio.create_task(silent(places, client % SHARE)) for client in range(MOST)]
        await asyncio.sleep(0)
        assert places.wait("alice", "alice") is None
        done, _ = await asyncio.wait(held, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        assert [one.result() for one in done] == ["hurried"], "one is enough"
        assert places.next() == "alice"
        for one in held:
            one.cancel()

    asyncio.run(play())


@pytest.mark.parametrize("waits_first", [False, True])
def test_a_silent_connection_is_closed_soon_if_its_client_has_waiting_ones(waits_first: bool) -> None:
    async def play() -> None:
        places = Places[str](MOST)
        while places.take("mallory"):
            pass
        if waits_first:
            places.wait("mallory", "m1")
        async with asyncio.timeout(60) as patience:
            places.begin_asking("mallory", patience)
            if not waits_first:
                places.wait("mallory", "m1")
            left = (patience.when() or 0) - asyncio.get_running_loop().time()
            places.end_asking("mallory", patience)
            assert left <= HURRIED_S

    asyncio.run(play())
