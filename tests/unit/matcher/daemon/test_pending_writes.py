# SPDX-License-Identifier: Apache-2.0
"""Test the queue of writes: order, limits, dropped entries, and use by two threads at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from reprise.matcher.daemon import pending_writes
from reprise.matcher.daemon.pending_writes import ENTRY_BYTES, Entry, Queue, Unmade

ALICE, MALLORY = 2001, 2002


def making(name: str, uid: int = ALICE, size: int = 0) -> Unmade:
    return Unmade(uid, size, lambda: Entry(name, uid=uid))


def broken() -> Entry:
    raise ZeroDivisionError


def written(queue: Queue, count: int = 100) -> list[str]:
    """Return the log lines of the entries ready to be written, in writing order; the entries stay in the queue."""
    entries = queue.begin(count)
    queue.settle(entries)
    return [entry.line for entry in entries]


def make_all(queue: Queue) -> None:
    while queue.unmade_since() is not None:
        queue.make_next()


@pytest.fixture
def room_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that limits the queue to the size of `count` entries whose rows and log lines have no text."""

    def leave(count: int) -> None:
        monkeypatch.setattr(pending_writes, "BACKLOG_BYTES", count * ENTRY_BYTES)
        monkeypatch.setattr(pending_writes, "UNMADE_BYTES", ENTRY_BYTES)

    return leave


def test_entries_are_made_and_written_in_the_order_in_which_they_came() -> None:
    queue = Queue()
    for name in "abc":
        queue.put_unmade(making(name))
    queue.make_next()
    assert (queue.take_lines(), written(queue)) == (["a"], ["a"]), "only made entries are returned"
    make_all(queue)
    assert queue.take_lines() == ["b", "c"], "each line is returned once"
    assert written(queue) == ["a", "b", "c"]


def test_an_entry_whose_sender_waits_is_written_before_unmade_ones() -> None:
    queue = Queue()
    for name in "abc":
        queue.put_unmade(making(name))
    queue.make_next()
    queue.put(Entry("urgent", uid=ALICE))
    make_all(queue)
    assert written(queue) == ["a", "urgent", "b", "c"]


def test_users_entries_are_written_in_turn_and_each_users_in_order() -> None:
    queue = Queue()
    for number in range(5):
        queue.put_unmade(making(f"mallory {number}", MALLORY))
    for number in range(2):
        queue.put_unmade(making(f"alice {number}"))
    queue.make_next()
    queue.make_next()
    assert queue.take_lines() == ["mallory 0", "alice 0"]
    make_all(queue)
    assert written(queue) == ["mallory 0", "alice 0", "mallory 1", "alice 1", "mallory 2", "mallory 3", "mallory 4"]


def test_entries_wait_and_are_counted_until_they_are_settled() -> None:
    queue = Queue()
    for name in "abcd":
        queue.put(Entry(name, uid=ALICE))
    _, second, _ = queue.begin(3)
    queue.put_unmade(making("e"))
    assert len(queue) == 5
    queue.settle([second])
    assert (len(queue), written(queue)) == (3, ["b", "d"])
    make_all(queue)
    assert written(queue) == ["b", "d", "e"]
    queue.begin(3)
    queue.settle()
    assert (len(queue), queue.bytes) == (0, 0)


def test_an_entry_that_cannot_be_made_loses_no_other() -> None:
    queue = Queue()
    for unmade in (making("a"), Unmade(ALICE, 0, broken), making("b")):
        queue.put_unmade(unmade)
    make_all(queue)
    assert (written(queue), queue.dropped, len(queue)) == (["a", "b"], 1, 2)


def test_waiting_entries_are_limited_in_bytes(room_for: Callable[[int], None]) -> None:
    room_for(3)
    queue = Queue()
    for name in "ab":
        queue.put(Entry(name, uid=ALICE))
    for name in "cd":
        queue.put_unmade(making(name))
    queue.put(Entry("e", uid=ALICE))
    assert (len(queue), queue.dropped) == (3, 2)
    queue.begin(1)
    queue.put_unmade(making("f"))
    assert (len(queue), queue.dropped) == (3, 3), "entries that are being written take room, too"
    queue.settle()
    queue.put_unmade(making("g"))
    assert (len(queue), queue.dropped) == (3, 3), "a finished write makes room"


def test_a_flood_drops_only_its_own_users_writes(room_for: Callable[[int], None]) -> None:
    room_for(6)
    queue = Queue()
    for number in range(20):
        queue.put_unmade(making(f"mallory {number}", MALLORY))
    assert (len(queue), queue.dropped) == (6, 14)
    for number in range(3):
        queue.put_unmade(making(f"alice {number}"))
    queue.put_unmade(making("mallory again", MALLORY))
    make_all(queue)
    assert written(queue) == ["mallory 0", "alice 0", "mallory 1", "alice 1", "mallory 2", "alice 2"]
    queue.put(Entry("alice's own", uid=ALICE))
    assert "alice's own" not in written(queue), "both users have equally many entries, so the new entry is dropped"


def test_large_writes_count_by_their_size(room_for: Callable[[int], None]) -> None:
    room_for(10)
    queue = Queue()
    queue.put_unmade(making("large", MALLORY, size=8 * ENTRY_BYTES))
    for number in range(2):
        queue.put_unmade(making(f"alice {number}"))
    assert queue.dropped == 1, "the large one"
    make_all(queue)
    assert written(queue) == ["alice 0", "alice 1"]


def test_a_sender_whose_entry_has_no_room_is_informed_at_once(room_for: Callable[[int], None]) -> None:
    room_for(2)
    queue, told = Queue(), list[bool]()
    for _ in range(3):
        queue.put(Entry("sent", uid=MALLORY, done=told.append))
    assert told == [False], "the sender of the entry without room is informed"
    queue.put(Entry("alice"))
    assert told == [False, False], "the sender of an entry that is dropped for another is informed"
    assert (len(queue), queue.dropped) == (2, 0), "entries that their senders still have do not count as dropped"


def test_when_many_entries_are_unmade_each_new_one_makes_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.matcher.daemon.pending_writes.MOST_UNMADE", 3)
    queue = Queue()
    for number in range(10):
        queue.put_unmade(making(str(number)))
    assert written(queue) == [str(number) for number in range(7)]


def test_two_threads_neither_lose_nor_repeat_nor_reorder_entries() -> None:
    queue, count = Queue(), 3000
    wrote: list[str] = []
    filled = threading.Event()

    def write() -> None:
        while not (filled.is_set() and not len(queue)):
            queue.new.wait(0.001)
            queue.take_lines()
            entries = queue.begin(7)
            left = entries[-1:] if len(wrote) % 3 else []  # as if writing the last entry failed
            wrote.extend(entry.line for entry in entries[: len(entries) - len(left)])
            queue.settle(left)
            if left:
                wrote.extend(entry.line for entry in queue.begin(1))
                queue.settle()

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(count):
        queue.put_unmade(making(str(number)))
        if number % 5 == 4:
            make_all(queue)
    make_all(queue)
    filled.set()
    writer.join()
    assert wrote == [str(number) for number in range(count)]
    assert (queue.dropped, queue.made, queue.bytes) == (0, 0, 0)
