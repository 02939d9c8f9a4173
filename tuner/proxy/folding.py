# SPDX-License-Identifier: Apache-2.0
"""Fold repeated parts of a long sequence of calls into loops, so that a mix is as long as its program, not as its run.

Calls are pushed one after the other. After each one, the end of the sequence is compared with the preceding items. If
it repeats the body of a preceding loop, that loop's count is increased; if it repeats the same number of preceding
items, the two become a loop. Prefix hashes reduce each comparison to one subtraction. Only distances to earlier places
of the same item are tried, nearest first, so the shortest period is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from reprise.tuner.proxy.mix import Call, Item, Loop, as_loop

_PRIME = (1 << 61) - 1
_BASE = 911_382_323_147_483_648
CANDIDATES = 96
"""Number of earlier places that are tried per call.

A body in which one call occurs more often, unfolded, remains unrolled.
"""


class Folder:
    """Folds the calls that are pushed; calls with equal texts are equal, and their gaps are averaged."""

    def __init__(self) -> None:
        self._items: list[Item] = []  # gaps are sums here, and are divided by their count at the end
        self._ids: list[int] = []
        self._hashes = [0]
        self._powers = [1]
        self._places: dict[int, list[int]] = defaultdict(list)
        self._names: dict[object, int] = {}
        self._bodies: dict[int, tuple[int, ...]] = {}  # bodies of loops, by their names
        self._due: dict[int, list[int]] = defaultdict(
            list
        )  # places of loops, by the length at which their body may have been repeated

    def push(self, text: str, gap_us: float = 0.0) -> None:
        """Add a call at the end."""
        self._append(Call(text, gap_us), self._name(text))
        while self._count_up() or self._pair():
            pass

    def items(self) -> list[Item]:
        """Return the folded calls, with mean gaps.

        The folder must not be used afterwards.
        """
        for item in self._items:
            _average(item, 1)
        return self._items

    def _name(self, what: object) -> int:
        return self._names.setdefault(what, len(self._names) + 1)

    def _append(self, item: Item, name: int) -> None:
        place = len(self._items)
        self._items.append(item)
        self._ids.append(name)
        self._hashes.append((self._hashes[-1] * _BASE + name) % _PRIME)
        if len(self._powers) <= place + 1:
            self._powers.append(self._powers[-1] * _BASE % _PRIME)
        self._places[name].append(place)
        if isinstance(item, Loop):
            self._due[place + 1 + len(item.body)].append(place)

    def _pop(self, count: int) -> list[Item]:
        """Remove the last items and return them."""
        first = len(self._items) - count
        for place in range(len(self._items) - 1, first - 1, -1):
            self._places[self._ids[place]].pop()
            item = self._items[place]
            if isinstance(item, Loop):
                self._due[place + 1 + len(item.body)].remove(place)
        popped = self._items[first:]
        del self._items[first:], self._ids[first:], self._hashes[first + 1 :]
        return popped

    def _hash(self, first: int, end: int) -> int:
        return (self._hashes[end] - self._hashes[first] * self._powers[end - first]) % _PRIME

    def _count_up(self) -> bool:
        """If the end repeats the body of the loop before it, make it part of that loop and return True."""
        length = len(self._items)
        for place in self._due.get(length, ()):
            loop = as_loop(self._items[place])
            body = tuple(self._ids[place + 1 :])
            if self._bodies[self._ids[place]] != body:
                continue
            again = self._pop(len(body))
            self._pop(1)
            _add(loop.body, again)
            loop.count += 1
            self._append(loop, self._loop_name(body, loop.count))
            return True
        return False

    def _pair(self) -> bool:
        """If the end repeats the items before it, make the two a loop and return True."""
        ids = self._ids
        length = len(ids)
        for place in reversed(self._places[ids[-1]][-CANDIDATES - 1 : -1]):
            period = length - 1 - place
            if period * 2 > length:
                return False
            middle = length - period
            if period > 1 and (
                ids[middle - period] != ids[middle] or ids[place - 1] != ids[-2]
            ):  # most candidates differ here
                continue
            if self._hash(middle - period, middle) != self._hash(middle, length):
                continue
            body = ids[middle:]
            if period == 1 and isinstance(self._items[-1], Loop):
                continue  # a loop that contains only a loop is redundant
            again = self._pop(period)
            first = self._pop(period)
            _add(first, again)
            self._append(Loop(2, first), self._loop_name(tuple(body), 2))
            return True
        return False

    def _loop_name(self, body: tuple[int, ...], count: int) -> int:
        name = self._name((body, count))
        self._bodies[name] = body
        return name


def fold(calls: Iterable[tuple[str, float]]) -> list[Item]:
    """Fold a rank's calls, given as texts with the computation before each in microseconds."""
    folder = Folder()
    for text, gap_us in calls:
        folder.push(text, gap_us)
    return folder.items()


def _add(items: list[Item], again: list[Item]) -> None:
    """Add the gaps of a repetition to those of the items that it repeated."""
    for item, other in zip(items, again, strict=True):
        if isinstance(item, Call) and isinstance(other, Call):
            item.gap_us += other.gap_us
        elif isinstance(item, Loop) and isinstance(other, Loop):
            _add(item.body, other.body)


def _average(item: Item, times: int) -> None:
    if isinstance(item, Call):
        item.gap_us /= times
        return
    for one in item.body:
        _average(one, times * item.count)
