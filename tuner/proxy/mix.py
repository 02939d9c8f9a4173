# SPDX-License-Identifier: Apache-2.0
"""A mix: the communication of one run of an application, rank by rank, with its repeated parts stored once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

VERSION = 1
COMPUTE = "compute"
"""Kind of a step that is not a call: the computation after a rank's last call."""

WORLD = 0
"""Index of the communicator of all ranks, in order."""


@dataclass(slots=True)
class Call:
    """One call of one rank.

    `text` is the call as in a line of a mix file, without its time: `bcast c=0 p=1 n=64`. `gap_us` is the computation
    before the call, in microseconds; in a loop, the mean.
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
    """The communication that a replay repeats.

    `comms`: members of each communicator, as ranks of the world; the first one is the world. `programs`: items of each
    rank. `seconds`: time of the recorded run on its slowest rank. `left_out`: number of calls on all ranks that a
    replay cannot make, by kind.
    """

    comms: Sequence[tuple[int, ...]]
    programs: Sequence[list[Item]]
    source: str = ""
    seconds: float = 0.0
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.programs)

    @property
    def calls(self) -> int:
        """Number of calls on all ranks, with every repetition."""
        return sum(count_calls(program) for program in self.programs)


def as_loop(item: Item) -> Loop:
    """Return an item that is known to be a loop."""
    if isinstance(item, Loop):
        return item
    raise TypeError(f"a call, not a loop: {item.text}")


def expand(items: Iterable[Item]) -> Iterator[Call]:
    """Yield a rank's calls one by one, with every repetition of a loop."""
    for item in items:
        if isinstance(item, Call):
            yield item
        else:
            for _ in range(item.count):
                yield from expand(item.body)


def count_calls(items: Iterable[Item]) -> int:
    """Count the calls of a rank, with every repetition."""
    return sum(1 if isinstance(one, Call) else one.count * count_calls(one.body) for one in items)


def count_lines(items: Iterable[Item]) -> int:
    """Count the stored calls: each repeated part once."""
    return sum(1 if isinstance(one, Call) else count_lines(one.body) for one in items)


def computed_us(items: Iterable[Item]) -> float:
    """Return the sum of a rank's computation between its calls, in microseconds."""
    return sum(one.gap_us if isinstance(one, Call) else one.count * computed_us(one.body) for one in items)


def kind_of(text: str) -> str:
    """Return the kind of call in a line of a mix."""
    return text.partition(" ")[0]


def keys_of(text: str) -> dict[str, str]:
    """Return the keys and values in a line of a mix."""
    return dict(word.split("=", 1) for word in text.split()[1:])
