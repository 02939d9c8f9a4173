# SPDX-License-Identifier: Apache-2.0
"""Match messages to wildcard receives, by the times at which the sends and receives were called.

Messages are assumed to arrive in the order in which their sends were called. As in MPI, a message goes to the first
matching receive that is waiting, and a receive takes the first matching message that has arrived. If several senders
raced in the recorded run, the matches may differ from those in the run, but the program allows them, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

Comm: TypeAlias = tuple[int, tuple[int, ...]]
"""Number and members of a communicator."""

Origin: TypeAlias = tuple[int, int]
"""Sender's rank in the communicator, and tag of the message."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Sent:
    """A message, and the time at which its send was called."""

    comm: Comm
    source: int
    destination: int
    tag: int
    at: int


@dataclass(frozen=True, slots=True)
class Posted(Generic[K]):
    """A receive, and the times at which it was called (`at`) and at which it completed or was cancelled (`over_at`).

    `key` identifies the receive in the result.
    """

    comm: Comm
    destination: int
    source: int
    tag: int
    at: int
    over_at: int
    key: K


def resolve(sends: Sequence[Sent], receives: Sequence[Posted[K]], *, anybody: int) -> dict[K, Origin]:
    """Return the sender and tag of the message that each receive took, by the receive's key.

    `anybody` is the value that means any source or any tag. A receive that ended but matched no message is assumed to
    have been cancelled, and is not in the result.
    """
    found: dict[K, Origin] = {}
    messages: dict[tuple[Comm, int], list[Sent]] = defaultdict(list)
    waiting: dict[tuple[Comm, int], list[Posted[K]]] = defaultdict(list)
    steps: list[tuple[int, int, Sent | Posted[K]]] = [(one.at, 0, one) for one in sends]
    for receive in receives:
        steps += [(receive.at, 1, receive), (receive.over_at, 2, receive)]
    for _, step, one in sorted(steps, key=lambda each: each[:2]):
        where = one.comm, one.destination
        if isinstance(one, Sent):
            taker = next((each for each in waiting[where] if _match(one, each, anybody)), None)
            if taker is None:
                messages[where].append(one)
                continue
            waiting[where].remove(taker)
            found[taker.key] = one.source, one.tag
        elif step == 1:
            message = next((each for each in messages[where] if _match(each, one, anybody)), None)
            if message is None:
                waiting[where].append(one)
                continue
            messages[where].remove(message)
            found[one.key] = message.source, message.tag
        elif one.key not in found:
            waiting[where].remove(one)
    return found


def _match(message: Sent, receive: Posted[K], anybody: int) -> bool:
    return receive.source in (anybody, message.source) and receive.tag in (anybody, message.tag)
