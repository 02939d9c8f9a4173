# SPDX-License-Identifier: Apache-2.0
"""Indices of communicators in a mix: one that was freed lends its index to the next one of the same members.

A program that makes and frees a communicator in each of its steps then says the same in each of them, and its steps are
folded. Which one gets which index follows from the order in which a rank makes and frees them, and that order is the
same on all members.
"""

from __future__ import annotations


class CommIndices:
    """All communicators of a mix; the first one is the world."""

    def __init__(self, world: tuple[int, ...]) -> None:
        self.members = [world]
        self._alike: dict[tuple[bool, tuple[int, ...]], list[int]] = {}

    def first_without(self, live: set[int], members: tuple[int, ...], *, made: bool) -> int:
        """The first index of these members that is not `live`. `made`: by a call of the mix, not before its start."""
        alike = self._alike.setdefault((made, members), [])
        for index in alike:
            if index not in live:
                return index
        alike.append(len(self.members))
        self.members.append(members)
        return alike[-1]


class RankIndices:
    """What one rank calls its communicators, by the number that its trace has for them."""

    def __init__(self, shared: CommIndices, world: int) -> None:
        self._shared = shared
        self._live = {0}
        self._own = {world: 0}

    def of(self, number: int, members: tuple[int, ...]) -> int:
        """The index of a communicator; if no call of the mix made it, it is there from the start."""
        return self._own[number] if number in self._own else self._take(number, members, made=False)

    def make(self, number: int, members: tuple[int, ...]) -> int:
        """The index of a communicator that is being made."""
        return self._take(number, members, made=True)

    def free(self, number: int) -> None:
        """Let another communicator have its index."""
        self._live.discard(self._own.pop(number, -1))

    def _take(self, number: int, members: tuple[int, ...], *, made: bool) -> int:
        index = self._own[number] = self._shared.first_without(self._live, members, made=made)
        self._live.add(index)
        return index
