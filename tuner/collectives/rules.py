# SPDX-License-Identifier: Apache-2.0
"""Rules files as Open MPI 4.1 reads them, and the decision that it takes with one.

The classic form, without a header: the number of collectives; for each its id and the number of its communicator
entries; for each of these the communicator size and the number of rows; for each row the message size, the algorithm,
the fan-out and the segment size. Open MPI itself never says that it drops a file; here `DroppedError` says why it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuner.collectives.catalogue import COLLECTIVE_IDS


class DroppedError(ValueError):
    """Open MPI 4.1 drops the whole file; the message says why."""


@dataclass(frozen=True)
class Row:
    """From `size` bytes on: the algorithm (0: the built-in rules), its fan-out and its segment size in bytes."""

    size: int
    algorithm: int
    fanout: int = 0
    segment: int = 0


@dataclass(frozen=True)
class CommEntry:
    """The rows for communicators of `comm_size` ranks, up to the next entry's size."""

    comm_size: int
    rows: Sequence[Row]


# Collective id to its entries, in the order of the file.
Rules = Mapping[int, Sequence[CommEntry]]

# What the C library's "%li" takes ("0x" without digits is 0), and what the reader skips between two numbers: a "#" up
# to the end of its line, any other character by itself, and a lone sign together with the character that comes next.
_TOKEN = re.compile(
    r"(?P<number>[+-]?(?:0[xX][0-9a-fA-F]*|0[0-7]*|[1-9][0-9]*))|[+-]?\s*#[^\n]*|[+-]\s*\S|.", re.DOTALL
)


def numbers(text: str) -> Iterator[int]:
    """The numbers of a file: decimal, octal after a leading 0, hexadecimal after 0x."""
    for match in _TOKEN.finditer(text):
        word = match["number"]
        if word:
            digits = word.lstrip("+-").lower()
            if digits.startswith("0x"):
                value = int(digits[2:] or "0", 16)
            else:
                value = int(digits, 8 if digits.startswith("0") else 10)
            yield -value if word.startswith("-") else value


def parse(text: str) -> Rules:
    """Read a file as Open MPI 4.1 does. A collective that comes twice has its last entries. Raises DroppedError."""
    source = numbers(text)

    def take(what: str) -> int:
        value = next(source, None)
        if value is None:
            raise DroppedError(f"the file ends where {what} should be")
        if value < 0:
            raise DroppedError(f"{what} is negative ({value})")
        return value

    def row(first: bool) -> Row:
        size = take("a message size")
        if first and size != 0:
            raise DroppedError(f"the first message size of a communicator entry is {size}, not 0")
        algorithm, fanout, segment = (take(what) for what in ("an algorithm", "a fan-out", "a segment size"))
        return Row(size, algorithm, fanout, segment)

    def entry() -> CommEntry:
        comm_size = take("a communicator size")
        return CommEntry(comm_size, tuple(row(i == 0) for i in range(take("a number of message sizes"))))

    count = take("the number of collectives")
    if count > COLLECTIVE_IDS:
        raise DroppedError(f"{count} collectives are more than the {COLLECTIVE_IDS} that there are")
    rules: dict[int, Sequence[CommEntry]] = {}
    for _ in range(count):
        collective = take("a collective's id")
        if collective >= COLLECTIVE_IDS:
            raise DroppedError(f"no collective has the id {collective}")
        rules[collective] = tuple(entry() for _ in range(take("a number of communicator sizes")))
    return rules


def read(text: str) -> Rules:
    """What is in effect of a file: `parse`, and no rules at all where the file is dropped."""
    try:
        return parse(text)
    except DroppedError:
        return {}


def locate(rules: Rules, collective: int, comm_size: int, size: int) -> tuple[int, int] | None:
    """Where the row that 4.1 uses for a call is: (index of the entry, index of the row); None where there is none.

    `size` is in the unit that Open MPI compares. The scan stops at the first larger threshold, sorted or not; a
    communicator smaller than all entries gets the first.
    """
    entries = rules.get(collective, ())
    if not entries:
        return None
    entry = _last_not_larger([entry.comm_size for entry in entries], comm_size)
    sizes = [row.size for row in entries[entry].rows]
    return (entry, _last_not_larger(sizes, size)) if sizes else None


def decide(rules: Rules, collective: int, comm_size: int, size: int) -> Row | None:
    """The row that `locate` finds."""
    place = locate(rules, collective, comm_size, size)
    return rules[collective][place[0]].rows[place[1]] if place else None


def _last_not_larger(thresholds: Sequence[int], actual: int) -> int:
    first_larger = next((i for i, threshold in enumerate(thresholds) if threshold > actual), len(thresholds))
    return max(first_larger - 1, 0)
