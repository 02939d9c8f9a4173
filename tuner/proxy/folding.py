# SPDX-License-Identifier: Apache-2.0
"""Fold repeated parts of a sequence of calls into loops, so that a mix is short even if the run was long.

Calls are pushed one after the other. After each call, the last items are compared with the items before them. If they
repeat the body of the preceding loop, that loop's count is increased. If they repeat an equal number of preceding
items, both parts are replaced by a loop with count 2. Prefix hashes reduce each comparison to one subtraction. The
candidates for the period are the distances from the last item to its earlier occurrences, nearest first, so the
shortest period is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from reprise.tuner.proxy.mix import Call, Item, Loop, as_loop

_PRIME = (1 << 61) - 1
_BASE = 911_382_323_147_483_648
CANDIDATES = 96
"""Maximum number of earlier occurrences of the last item to try per call, which limits the time of folding.

A repeated sequence is not folded if its last call occurs more often than this within the sequence.
"""


class Folder:
    """Folds calls into loops; calls with equal texts count as equal, and the gaps of folded calls are averaged."""

    def __init__(self) -> None:
        self._items: list[Item] = []  # gaps are sums until `items` divides them by the number of repetitions
        self._ids: list[int] = []
        self._hashes = [0]
        self._powers = [1]
        self._places: dict[int, list[int]] = defaultdict(list)
        self._names: dict[object, int] = {}
        self._bodies: dict[int, tuple[int, ...]] = {}  # ids of the items in a loop's body, by the loop's id
        # positions of loops, by the length of the sequence at which a loop must be checked, that is, at which as many
        # items follow the loop as its body has
        self._due: dict[int, list[int]] = defaultdict(list)

    def push(self, text: str, gap_us: float = 0.0) -> None:
        """Add a call at the end, after `gap_us` microseconds of computation, and fold the sequence if it repeats."""
        self._append(Call(text, gap_us), self._name(text))
        while self._count_up() or self._pair():
            pass

    def items(self) -> list[Item]:
        """Return the folded calls; the gap of a call in a loop is the mean over its repetitions.

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
        """If the last items repeat the body of the loop before them, merge them into the loop and return True."""
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
        """If the last items equal the items before them, replace both parts by a loop and return True."""
        ids = self._ids
        length = len(ids)
        for place in reversed(self._places[ids[-1]][-CANDIDATES - 1 : -1]):
            period = length - 1 - place
            if period * 2 > length:
                return False
            middle = length - period
            # cheap test that rejects most candidates
            if period > 1 and (ids[middle - period] != ids[middle] or ids[place - 1] != ids[-2]):
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
    """Fold a rank's calls, given as pairs of the call's text and the computation before it in microseconds."""
    folder = Folder()
    for text, gap_us in calls:
        folder.push(text, gap_us)
    return folder.items()


def _add(items: list[Item], again: list[Item]) -> None:
    """Add the gaps of repeated items to the gaps of the items that are kept."""
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
