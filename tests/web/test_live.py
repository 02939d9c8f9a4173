# SPDX-License-Identifier: Apache-2.0
"""Test the stream of a campaign's events and when it ends; tests/web/test_browser.py follows a stream in a browser."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import Callable
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from reprise.cli.web import MOST_REQUESTS
from reprise.database import Database
from reprise.tuner.campaign import session
from reprise.tuner.definition.campaign_definition import check
from reprise.web import api, live
from reprise.web.app import create
from tests.waiting import wait_for
from tests.web.site import WebSite


def told(look: Callable[[], dict[str, Any]], left_after: int = 10**9, lasting_s: float = 60.0) -> list[str]:
    """Return all events of a stream whose reader stays connected for `left_after` checks of the campaign's state."""
    looks = 0
    watchers = live.Watchers()

    async def gone() -> bool:
        nonlocal looks
        looks += 1
        return looks > left_after

    async def collected() -> list[str]:
        return [text async for text in live.events(look, gone, watchers, look_s=0.001, lasting_s=lasting_s)]

    found = asyncio.run(collected())
    assert watchers.count == 0
    return found


def test_an_unchanged_state_is_sent_once_until_the_reader_leaves() -> None:
    (event,) = told(lambda: {"state": "running"}, left_after=5)
    assert event == 'event: progress\ndata: {"state": "running"}\n\n'


def test_the_end_of_a_campaign_ends_the_stream() -> None:
    states = iter(["running", "complete"])
    events = told(lambda: {"state": next(states)})
    assert [one.split("\n")[0] for one in events] == ["event: progress", "event: progress", "event: end"]


def test_a_stream_ends_in_time_and_lets_a_browser_reconnect() -> None:
    """The stream must not send the event `end`, because browsers do not reconnect after that event."""
    events = told(lambda: {"state": "running"}, lasting_s=0.05)
    assert [one.split("\n")[0] for one in events] == ["event: progress"]


@pytest.mark.slow
def test_rights_are_checked_again_when_a_reader_reconnects(empty: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "events", functools.partial(live.events, lasting_s=0.05))
    with Database.open(empty.config.database.path) as database:
        number = session.begin(database, check(empty.campaign(), "a"), empty.config, 1.0).id
    hours = empty.config.web.model_copy(update={"token_hours": 1 / 3600})
    config = empty.config.model_copy(update={"web": hours})
    with TestClient(create(config)) as client:
        headers = {"authorization": f"Bearer {empty.token()}"}
        answer = client.get(f"/api/campaigns/{number}/events", headers=headers)
        assert json.loads(answer.text.split("data: ")[1])["campaign"] == number and "event: end" not in answer.text
        wait_for(
            "the token's end",
            lambda: client.get(f"/api/campaigns/{number}/events", headers=headers).status_code == 401,
            20,
        )


def test_streams_leave_most_connections_to_other_requests() -> None:
    assert live.WATCHERS < MOST_REQUESTS / 2


@pytest.mark.slow
def test_a_reader_beyond_the_limit_of_streams_gets_status_429(empty: WebSite) -> None:
    with Database.open(empty.config.database.path) as database:
        number = session.begin(database, check(empty.campaign(), "a"), empty.config, 1.0).id
    path = f"/api/campaigns/{number}/events"

    def begun(client: httpx.Client) -> tuple[int, str]:
        """Return the status and the first line of a response that may never end."""
        with client.stream("GET", path) as answer:
            return answer.status_code, next(answer.iter_lines())

    empty.start()
    try:
        with empty.client() as client, contextlib.ExitStack() as looking_on:
            read = []  # keeps the generators referenced, because an unreferenced generator is closed
            for _ in range(live.WATCHERS):
                read.append(looking_on.enter_context(client.stream("GET", path)).iter_lines())
                assert next(read[-1]) == "event: progress"
            status, words = begun(client)
            assert status == 429 and "close one" in json.loads(words)["detail"]
            assert client.get("/api/me").status_code == 200, "other requests are still answered"
            looking_on.close()
            wait_for("a place", lambda: begun(client)[0] == 200, 20)
    finally:
        empty.stop()
