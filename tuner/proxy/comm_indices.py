# SPDX-License-Identifier: Apache-2.0
"""Assign indices to a mix's communicators; reuse a freed communicator's index for the next one with equal members.

If a program creates and frees a communicator in each of its steps, the calls of all steps are then equal and can be
folded into a loop. A rank's indices follow from the order in which the rank creates and frees communicators. This order
is the same on all members of a communicator.
"""

from __future__ import annotations


class CommIndices:
    """Members of all communicators in a mix; index 0 is MPI_COMM_WORLD."""

    def __init__(self, world: tuple[int, ...]) -> None:
        self.members = [world]
        self._by_members: dict[tuple[bool, tuple[int, ...]], list[int]] = {}

    def first_without(self, live: set[int], members: tuple[int, ...], *, made: bool) -> int:
        """Return the lowest index not in `live` whose communicator has these members; if there is none, add one.

        `made`: whether a call in the mix creates the communicator; otherwise the communicator exists from the start.
        """
        indices = self._by_members.setdefault((made, members), [])
        for index in indices:
            if index not in live:
                return index
        indices.append(len(self.members))
        self.members.append(members)
        return indices[-1]


class RankIndices:
    """One rank's mapping from the numbers of communicators in its trace to their indices in the mix."""

    def __init__(self, shared: CommIndices, world: int) -> None:
        self._shared = shared
        self._live = {0}
        self._own = {world: 0}
        self._made: set[int] = set()  # numbers of the communicators that calls in the mix create

    def of(self, number: int, members: tuple[int, ...]) -> int:
        """Return a communicator's index; assign one if the communicator has none.

        No call in the mix creates a communicator without an index, so this communicator exists from the start.
        """
        return self._own[number] if number in self._own else self._take(number, members, made=False)

    def make(self, number: int, members: tuple[int, ...]) -> int:
        """Assign an index to a communicator that a call in the mix creates, and return the index."""
        self._made.add(number)
        return self._take(number, members, made=True)

    def is_made(self, number: int) -> bool:
        """Return whether a call in the mix creates the communicator; if not, it exists during the whole replay."""
        return number in self._made

    def free(self, number: int) -> None:
        """Release the index of a freed communicator for reuse."""
        self._made.discard(number)
        self._live.discard(self._own.pop(number, -1))

    def _take(self, number: int, members: tuple[int, ...], *, made: bool) -> int:
        index = self._own[number] = self._shared.first_without(self._live, members, made=made)
        self._live.add(index)
        return index
