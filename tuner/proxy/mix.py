# SPDX-License-Identifier: Apache-2.0
"""Data model of a mix, which contains each rank's communication calls in one run, with loops for repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

VERSION = 1
COMPUTE = "compute"
"""Kind of an item that is not an MPI call but the computation after a rank's last call."""

WORLD = 0
"""Index of the communicator that contains all ranks in order."""


@dataclass(slots=True)
class Call:
    """One call of one rank.

    `text` is the call as written in a mix file, such as `bcast c=0 p=1 n=64`, without the gap. `gap_us` is the
    computation time before the call in microseconds; in a loop, it is the mean over the repetitions.
    """

    text: str
    gap_us: float = 0.0


@dataclass(slots=True)
class Loop:
    """A sequence of calls that a rank repeats `count` times."""

    count: int
    body: list[Item]


Item: TypeAlias = Call | Loop


@dataclass(frozen=True)
class Mix:
    """Communication that an application performed in one run, and that a replay repeats.

    `comms`: members of each communicator, as ranks in MPI_COMM_WORLD, which is the first communicator. `programs`:
    calls and loops of each rank. `source`: kind of recording that the mix was made from. `seconds`: duration of the
    recorded run on the slowest rank. `left_out`: number of calls on all ranks that a replay cannot make, by kind.
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
        """Total number of calls on all ranks, including every repetition of loops."""
        return sum(count_calls(program) for program in self.programs)


def as_loop(item: Item) -> Loop:
    """Return an item as a loop; raise TypeError if it is a call."""
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
    """Return the number of a rank's calls, including every repetition of loops."""
    return sum(1 if isinstance(one, Call) else one.count * count_calls(one.body) for one in items)


def count_lines(items: Iterable[Item]) -> int:
    """Return the number of stored calls; calls in the body of a loop count once."""
    return sum(1 if isinstance(one, Call) else count_lines(one.body) for one in items)


def computed_us(items: Iterable[Item]) -> float:
    """Return the total time of computation between a rank's calls, in microseconds."""
    return sum(one.gap_us if isinstance(one, Call) else one.count * computed_us(one.body) for one in items)


def kind_of(text: str) -> str:
    """Return the kind of a call, such as `bcast`, from its text in a mix."""
    return text.partition(" ")[0]


def keys_of(text: str) -> dict[str, str]:
    """Return the keys and values of a call, such as `c` and `0`, from its text in a mix."""
    return dict(word.split("=", 1) for word in text.split()[1:])
