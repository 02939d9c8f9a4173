# SPDX-License-Identifier: Apache-2.0
"""The queue of writes: its order, its limits, and what its two threads may do at once."""

from __future__ import annotations

import threading

import pytest

from reprise.matcher.daemon.pending_writes import Entry, MakeEntry, Queue


def making(name: str) -> MakeEntry:
    return lambda: Entry(name)


def broken() -> Entry:
    raise ZeroDivisionError


def names(queue: Queue) -> list[str]:
    """The taken entries."""
    return [entry.line for entry in queue.oldest()]


def make_all(queue: Queue) -> None:
    while queue.unmade_since() is not None:
        queue.make_oldest()


def test_entries_are_made_and_taken_in_the_order_in_which_they_came() -> None:
    queue = Queue()
    for name in "abc":
        queue.put_unmade(making(name))
    queue.make_oldest()
    assert [entry.line for entry in queue.take()] == ["a"], "nothing that is not made"
    make_all(queue)
    assert [entry.line for entry in queue.take()] == ["b", "c"], "each of them once"
    assert names(queue) == ["a", "b", "c"]


def test_an_entry_whose_sender_waits_goes_before_those_that_are_not_made() -> None:
    queue = Queue()
    for name in "abc":
        queue.put_unmade(making(name))
    queue.make_oldest()
    queue.put(Entry("urgent"))
    make_all(queue)
    queue.take()
    assert names(queue) == ["a", "urgent", "b", "c"]


def test_entries_wait_and_are_counted_until_they_are_settled() -> None:
    queue = Queue()
    for name in "abcd":
        queue.put(Entry(name))
    queue.take()
    queue.put_unmade(making("e"))
    second = queue.oldest(3)[1]
    assert len(queue) == 5
    queue.settle(3, [second])
    assert (len(queue), queue.taken, names(queue)) == (3, 2, ["b", "d"])
    make_all(queue)
    queue.take()
    assert names(queue) == ["b", "d", "e"]


def test_an_entry_that_cannot_be_made_costs_no_other() -> None:
    queue = Queue()
    for make in (making("a"), broken, making("b")):
        queue.put_unmade(make)
    make_all(queue)
    queue.take()
    assert (names(queue), queue.dropped, len(queue)) == (["a", "b"], 1, 2)


def test_made_and_unmade_entries_fill_one_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.matcher.daemon.pending_writes.CAPACITY", 3)
    queue = Queue()
    for _ in range(2):
        queue.put(Entry("made"))
    queue.take()
    for name in "ab":
        queue.put_unmade(making(name))
    queue.put(Entry("urgent"))
    assert (len(queue), queue.dropped) == (3, 2)
    queue.settle(1)
    queue.put_unmade(making("c"))
    assert (len(queue), queue.dropped) == (3, 2), "a write that is done makes room"


def test_where_many_are_not_made_the_oldest_is_made_with_each_that_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.matcher.daemon.pending_writes.MOST_UNMADE", 3)
    queue = Queue()
    for number in range(10):
        queue.put_unmade(making(str(number)))
    queue.take()
    assert names(queue) == [str(number) for number in range(7)]


def test_two_threads_lose_repeat_and_reorder_nothing() -> None:
    queue, count = Queue(), 3000
    written: list[str] = []
    filled = threading.Event()

    def write() -> None:
        while not (filled.is_set() and not len(queue)):
            queue.new.wait(0.001)
            queue.take()
            entries = queue.oldest(7)
            left = entries[-1:] if len(written) % 3 else []  # it fails, and is tried again
            written.extend(entry.line for entry in entries[: len(entries) - len(left)])
            queue.settle(len(entries), left)
            if left:
                written.extend(entry.line for entry in queue.oldest(1))
                queue.settle(1)

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(count):
        queue.put_unmade(making(str(number)))
        if number % 5 == 4:
            make_all(queue)
    make_all(queue)
    filled.set()
    writer.join()
    assert written == [str(number) for number in range(count)]
    assert (queue.dropped, queue.taken, queue.made) == (0, 0, 0)
