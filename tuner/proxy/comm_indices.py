# SPDX-License-Identifier: Apache-2.0
"""Indices of communicators in a mix: the index of a freed one is reused for the next one with the same members.

If a program makes and frees a communicator in each of its steps, all steps then look equal and are folded. A rank's
indices follow from the order in which it makes and frees communicators, and that order is the same on all members.
"""

from __future__ import annotations


class CommIndices:
    """All communicators of a mix; the first one is the world."""

    def __init__(self, world: tuple[int, ...]) -> None:
        self.members = [world]
        self._by_members: dict[tuple[bool, tuple[int, ...]], list[int]] = {}

    def first_without(self, live: set[int], members: tuple[int, ...], *, made: bool) -> int:
        """Return the first index of these members that is not `live`.

        `made`: whether a call of the mix makes the communicator; otherwise it exists from the start.
        """
        indices = self._by_members.setdefault((made, members), [])
        for index in indices:
            if index not in live:
                return index
        indices.append(len(self.members))
        self.members.append(members)
        return indices[-1]


class RankIndices:
    """Indices of one rank's communicators, by their numbers in its trace."""

    def __init__(self, shared: CommIndices, world: int) -> None:
        self._shared = shared
        self._live = {0}
        self._own = {world: 0}

    def of(self, number: int, members: tuple[int, ...]) -> int:
        """Return the index of a communicator; if no call of the mix made it, it exists from the start."""
        return self._own[number] if number in self._own else self._take(number, members, made=False)

    def make(self, number: int, members: tuple[int, ...]) -> int:
        """Return the index of a communicator that is being made."""
        return self._take(number, members, made=True)

    def free(self, number: int) -> None:
        """Make the communicator's index available to another one."""
        self._live.discard(self._own.pop(number, -1))

    def _take(self, number: int, members: tuple[int, ...], *, made: bool) -> int:
        index = self._own[number] = self._shared.first_without(self._live, members, made=made)
        self._live.add(index)
        return index
