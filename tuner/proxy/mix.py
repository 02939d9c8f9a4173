# SPDX-License-Identifier: Apache-2.0
"""A mix: the communication of one run of an application, rank by rank, with its repeated parts stored once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

VERSION = 1
COMPUTE = "compute"
"""The kind of a step that is no call: what a rank computes after its last one."""

WORLD = 0
"""The index of the communicator of all ranks, in order."""


@dataclass(slots=True)
class Call:
    """One call of one rank. `text` says all of it but the time, as a line of a mix file does: `bcast c=0 p=1 n=64`.

    `gap_us` is what the rank computed before it, in microseconds; where the call is in a loop, the mean.
    """

    text: str
    gap_us: float = 0.0


@dataclass(slots=True)
class Loop:
    """A part that a rank repeats `count` times."""

    count: int
    body: list[Item]


Item: TypeAlias = Call | Loop


@dataclass(frozen=True)
class Mix:
    """What a replay does again.

    `comms`: members of each communicator, as ranks of the world; the first one is the world. `programs`: what each rank
    does. `seconds`: what the recorded run took on its slowest rank. `left_out`: calls that a replay cannot make, by
    kind, and how many of them all ranks made.
    """

    comms: Sequence[tuple[int, ...]]
    programs: Sequence[list[Item]]
    source: str = ""
    seconds: float = 0.0
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return len(self.programs)

    @property
    def calls(self) -> int:
        """Calls of all ranks, every repetition counted."""
        return sum(count_calls(program) for program in self.programs)


def as_loop(item: Item) -> Loop:
    """Return an item that is known to be a loop."""
    if isinstance(item, Loop):
        return item
    raise TypeError(f"a call, not a loop: {item.text}")


def expand(items: Iterable[Item]) -> Iterator[Call]:
    """Yield a rank's calls one by one, every repetition of a loop among them."""
    for item in items:
        if isinstance(item, Call):
            yield item
        else:
            for _ in range(item.count):
                yield from expand(item.body)


def count_calls(items: Iterable[Item]) -> int:
    """Count the calls of a rank, every repetition counted."""
    return sum(1 if isinstance(one, Call) else one.count * count_calls(one.body) for one in items)


def count_lines(items: Iterable[Item]) -> int:
    """Count the calls as they are stored: each repeated part once."""
    return sum(1 if isinstance(one, Call) else count_lines(one.body) for one in items)


def computed_us(items: Iterable[Item]) -> float:
    """Sum what a rank computes between its calls, in microseconds."""
    return sum(one.gap_us if isinstance(one, Call) else one.count * computed_us(one.body) for one in items)


def kind_of(text: str) -> str:
    """The kind of call that a line of a mix is."""
    return text.partition(" ")[0]


def keys_of(text: str) -> dict[str, str]:
    """The keys and values of a line of a mix."""
    return dict(word.split("=", 1) for word in text.split()[1:])
