# SPDX-License-Identifier: Apache-2.0
"""Test that a client with much work delays only itself, and that each uid's use of the daemon is limited."""

from __future__ import annotations

import asyncio
import threading

import pytest

from reprise.matcher.daemon import allowance
from reprise.matcher.daemon.allowance import Allowance
from reprise.matcher.daemon.turns import FairThreads, Lanes, Room, Rounds

ALICE, MALLORY = 2001, 2002


def test_keys_take_turns_and_each_keeps_its_order() -> None:
    lanes = Lanes[str]()
    for item in ("m1", "m2", "m3", "a1"):
        lanes.put(item[0], item)
    lanes.put_back("a", ["a-1", "a0"])
    assert [lanes.take()[1] for _ in range(len(lanes))] == ["m1", "a-1", "m2", "a0", "m3", "a1"]
    assert len(lanes) == 0 and list(lanes) == []


def test_the_newest_item_of_a_key_can_be_removed() -> None:
    lanes = Lanes[int]()
    lanes.put("m", 1)
    assert (lanes.take_newest("m"), lanes.take_newest("m"), len(lanes)) == (1, None, 0)


def test_one_request_continues_in_each_round_and_users_take_turns() -> None:
    order: list[int] = []

    async def ask(rounds: Rounds, uid: int) -> None:
        await rounds.turn(uid)
        order.append(uid)

    async def play() -> None:
        rounds = Rounds()
        asked = [asyncio.create_task(ask(rounds, MALLORY)) for _ in range(20)]
        await asyncio.sleep(0)
        asked.append(asyncio.create_task(ask(rounds, ALICE)))
        await asyncio.gather(*asked)
        begun = len(order)
        await ask(rounds, ALICE)
        assert len(order) == begun + 1

    asyncio.run(play())
    assert order.index(ALICE) <= 3 and order.count(MALLORY) == 20


def test_a_cancelled_waiter_delays_nobody() -> None:
    async def play() -> None:
        rounds = Rounds()
        await rounds.turn(MALLORY)
        gone, waits = asyncio.create_task(rounds.turn(MALLORY)), asyncio.create_task(rounds.turn(ALICE))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(waits, 5)
        await asyncio.wait_for(rounds.turn(ALICE), 5)

    asyncio.run(play())


def test_one_thread_at_a_time_works_for_a_user() -> None:
    busy, most = {ALICE: 0, MALLORY: 0}, {ALICE: 0, MALLORY: 0}
    alice_is_done = threading.Event()

    def work(uid: int) -> int:
        busy[uid] += 1
        most[uid] = max(most[uid], busy[uid])
        if uid == MALLORY:
            assert alice_is_done.wait(10), "one thread stays free for the other user"
        busy[uid] -= 1
        return uid

    async def play() -> None:
        threads = FairThreads(2, 1, "test")
        asked = [asyncio.create_task(threads.run(MALLORY, work, MALLORY)) for _ in range(5)]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(threads.run(ALICE, work, ALICE), 10) == ALICE
        alice_is_done.set()
        assert await asyncio.gather(*asked) == [MALLORY] * 5

    asyncio.run(play())
    assert most == {ALICE: 1, MALLORY: 1}


def test_cancelled_work_leaves_threads_to_others() -> None:
    async def play() -> None:
        threads = FairThreads(2, 1, "test")
        hangs = threading.Event()
        for _ in range(3):
            held = [asyncio.create_task(threads.run(MALLORY, hangs.wait)) for _ in range(4)]
            await asyncio.sleep(0)
            held[0].cancel()  # the thread still runs the canceled task's work
            await asyncio.sleep(0)
            for one in held:
                one.cancel()
            await asyncio.gather(*held, return_exceptions=True)
        hangs.set()
        for uid in (ALICE, MALLORY):
            assert await asyncio.wait_for(threads.run(uid, lambda: 1), 10) == 1
        assert (threads._free, dict(threads._busy), len(threads._waiting)) == (2, {}, 0)

    asyncio.run(play())


def test_failing_work_does_not_affect_later_work() -> None:
    async def play() -> None:
        threads = FairThreads(1, 1, "test")
        with pytest.raises(ZeroDivisionError):
            await threads.run(ALICE, lambda: 1 // 0)
        assert await threads.run(ALICE, lambda: 1) == 1

    asyncio.run(play())


def test_an_allowance_limits_a_users_burst_and_rate() -> None:
    now = [100.0]
    asked = Allowance(10, 2, lambda: now[0])
    assert [asked.take(MALLORY, 4) for _ in range(3)] == [True, True, False]
    assert asked.take(ALICE, 10), "each user has a separate allowance"
    now[0] += 1.0
    assert (asked.left(MALLORY), asked.take(MALLORY, 4), asked.take(MALLORY, 4)) == (4, True, False)
    now[0] += 3600
    assert asked.left(MALLORY) == 10
    assert asked.take(MALLORY, 6, keeping=4) and not asked.take(MALLORY, 1, keeping=4)


def test_an_allowance_remembers_a_limited_number_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "REMEMBERED", 8)
    asked = Allowance(10, 0.0)
    for uid in range(100):
        assert asked.take(uid, 10)
        assert asked.take(1000, 0.01), "a user who keeps asking is not forgotten"
        assert len(asked._left) <= 8
    assert not asked.take(99, 10) and asked.take(0, 10)


def test_bytes_in_use_are_limited_and_freed_bytes_are_assigned_in_turn() -> None:
    order: list[str] = []

    async def use(room: Room, name: str, size: int) -> None:
        await room.take(name[0], size)
        order.append(name)

    async def play() -> None:
        room = Room(10)
        await room.take("m", 10)
        waiting = [asyncio.create_task(use(room, name, 5)) for name in ("m1", "m2", "a1", "m3")]
        await asyncio.sleep(0)
        waiting[0].cancel()
        room.give(10)
        await asyncio.gather(waiting[1], waiting[2])
        assert order == ["a1", "m2"]
        room.give(5)
        await waiting[3]
        room.give(10)
        await room.take("b", 10)

    asyncio.run(play())
