# SPDX-License-Identifier: Apache-2.0
"""The classic form of rules files, a list of numbers, as `coll_tuned` in each release interprets it.

The file has nested lists:

- the number of collectives; for each collective, its id and the number of its entries;
- for each entry, the communicator size and the number of its rows;
- for each row, the message size, the algorithm, the fan-out and the segment size.

Builds of Bull and Eviden add a level for numbers of nodes: a collective's id is followed by its number of node entries,
and each node entry starts with a number of nodes. Open MPI never reports that it drops a file; here, `DroppedError` has
the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias, TypeVar

from reprise.tuner.openmpi.catalogue import NAMES
from reprise.tuner.openmpi.rules.rules_model import (
    ANY_NODES,
    RANKS_MAX,
    SIZE_MAX,
    Choice,
    CommRule,
    Range,
    Rules,
    SizeRule,
)
from reprise.tuner.openmpi.rules.scan import OLDEST, EndError, Scan, to_int

T = TypeVar("T")
# If a truncated file states more items than this for a list, the error message mentions that each task allocates memory
# for all items first (about 40 bytes each).
MANY = 1_000_000


class DroppedError(ValueError):
    """Open MPI drops the whole file; the message gives the reason and the line."""


class CrashError(DroppedError):
    """Open MPI writes beyond the memory that it allocated for the file's content.

    Most jobs that read the file crash in MPI_Init (seen with 4.1.4, 4.1.8 and 5.0.7); the rest continue without rules.
    """


class _CutOffError(DroppedError):
    """The file ends too early. The function that reads a list adds to the message which item is cut off."""


@dataclass(frozen=True)
class Row:
    """A row: the choice for messages of `size` bytes or more."""

    size: int
    choice: Choice
    where: str


@dataclass(frozen=True)
class CommEntry:
    """An entry: the rows for communicators of `key` ranks or more, as most releases interpret it."""

    key: int
    rows: Sequence[Row]
    where: str


@dataclass(frozen=True)
class NodeEntry:
    """A node entry: the entries for communicators on `key` nodes or more.

    A file without a level for numbers of nodes has one node entry per collective.
    """

    key: int
    comms: Sequence[CommEntry]


# Entries in the order of the file, by the collective's name.
Listed: TypeAlias = dict[str, Sequence[NodeEntry]]


@dataclass(frozen=True)
class Dialect:
    """A variant of the classic form, which some releases read.

    `header`: the release accepts "rule-file-version-N". If N exceeds 1, a row may have a fifth number on its line.
    `nodes`: the release expects a level for numbers of nodes. `shifted`: an entry's communicator size is the end of its
    range (6.x), not the beginning. `libc`: minor version of the glibc that the release was built with (see `Scan`).
    """

    header: bool = False
    nodes: bool = False
    shifted: bool = False
    libc: int = OLDEST


class _Reader:
    def __init__(self, data: bytes, dialect: Dialect) -> None:
        self.scan = Scan(data, dialect.libc)
        self.dialect = dialect
        self.version = 1

    def take(self, what: str) -> int:
        try:
            value = self.scan.number()
        except EndError:
            raise _CutOffError(f"the file ends where {what} should be") from None
        if value < 0:
            raise DroppedError(f"line {self.scan.line}: {what} is negative ({value})")
        return value

    def times(self, what: str, item: Callable[[int], T]) -> list[T]:
        """Read a number N, which `what` describes, and then N items.

        As in Open MPI, N is not compared with the file's length before the items are read. Open MPI allocates memory
        for N items, with N truncated to a C int. If the allocation fails, Open MPI drops the file; builds with a level
        for numbers of nodes do not check for such a failure.
        """
        count = self.take(what)
        room, where = to_int(count), self.where
        found: list[T] = []
        while len(found) < count:
            if len(found) >= room and (room >= 0 or self.dialect.nodes) and self.more():
                raise CrashError(f"{where}: {what} is {count}, which a C int truncates to {room}")
            if room < 0:
                raise DroppedError(f"{where}: {what} is {count}, too large to allocate memory")
            try:
                found.append(item(len(found)))
            except _CutOffError as error:
                cost = " (each task allocates memory for all first)" if count > MANY else ""
                raise DroppedError(
                    f"{error}: {what} is {count}{cost}, but number {len(found) + 1} is cut off"
                ) from None
        return found

    def more(self) -> bool:
        """Return whether the file has another number, without consuming it."""
        at = self.scan.at
        try:
            self.scan.number()
        except EndError:
            return False
        finally:
            self.scan.at = at
        return True

    def file(self) -> Listed:
        if self.dialect.header:
            self.version = self.scan.header() or 1
        listed: Listed = {}
        count = self.take("the number of collectives")
        if count > len(NAMES):
            raise DroppedError(
                f"line {self.scan.line}: {count} collectives are too many, since only {len(NAMES)} exist"
            )
        for _ in range(count):
            number = self.take("a collective's id")
            if number >= len(NAMES):
                raise DroppedError(f"line {self.scan.line}: no collective has the id {number}")
            if self.dialect.nodes:
                listed[NAMES[number]] = self.times("a number of node counts", self.node_entry)
            else:
                listed[NAMES[number]] = [NodeEntry(0, self.times("a number of communicator sizes", self.comm_entry))]
        return listed

    def node_entry(self, _: int) -> NodeEntry:
        return NodeEntry(self.take("a number of nodes"), self.times("a number of communicator sizes", self.comm_entry))

    def comm_entry(self, _: int) -> CommEntry:
        key = self.take("a communicator size")
        where = self.where
        return CommEntry(key, self.times("a number of message sizes", self.row), where)

    def row(self, number: int) -> Row:
        size = self.take("a message size")
        where = self.where
        choice = Choice(*(to_int(self.take(what)) for what in ("an algorithm", "a fan-out", "a segment size")))
        if self.version > 1 and self.scan.digit_follows():
            requests = to_int(self.take("a number of requests"))
            choice = Choice(choice.algorithm, choice.fanout, choice.segment, requests)
        if number == 0 and size:
            raise DroppedError(f"{where}: the first message size of a communicator entry is {size}, not 0")
        return Row(size, choice, where)

    @property
    def where(self) -> str:
        return f"line {self.scan.line}"


def listed(data: bytes, dialect: Dialect) -> Listed:
    """Return the entries of a file by collective, in the order of the file.

    If a collective occurs twice, only its last entries count. Raise DroppedError if the file is dropped.
    """
    return _Reader(data, dialect).file()


def read(data: bytes, dialect: Dialect) -> Rules:
    """Return the rules that a release with this dialect reads from a file.

    Raise DroppedError if the file is dropped.
    """
    return {name: tuple(_rules(entries, dialect)) for name, entries in listed(data, dialect).items()}


def _rules(entries: Sequence[NodeEntry], dialect: Dialect) -> Iterator[CommRule]:
    """Yield the rules of a collective.

    Ranges of numbers of nodes do not overlap. If the range that includes a communicator's number of nodes has no rule
    for its number of ranks, the built-in rules decide.
    """
    if not dialect.nodes:
        comms = entries[0].comms
        keys = [entry.key for entry in comms]
        ranges = _shifted(keys) if dialect.shifted else _from_key_on(keys, RANKS_MAX, first=0)
        yield from _comm_rules(comms, ranges, ANY_NODES, dialect)
        return
    for entry, nodes in zip(entries, _from_key_on([entry.key for entry in entries], RANKS_MAX), strict=True):
        keys = [comm.key for comm in entry.comms]
        yield from _comm_rules(entry.comms, _from_key_on(keys, RANKS_MAX), nodes, dialect)


def _comm_rules(
    comms: Sequence[CommEntry], ranges: Sequence[Range], nodes: Range, dialect: Dialect
) -> Iterator[CommRule]:
    for entry, ranks in zip(comms, ranges, strict=True):
        keys = [row.size for row in entry.rows]
        sizes = _up_to_next(keys) if dialect.shifted else _from_key_on(keys, SIZE_MAX)
        rows = tuple(
            SizeRule(low, high, row.choice, row.where) for row, (low, high) in zip(entry.rows, sizes, strict=True)
        )
        yield CommRule(rows, ranks, nodes, where=entry.where)


def _from_key_on(keys: Sequence[int], limit: int, first: int | None = None) -> list[Range]:
    """Return, for each entry, the range of values for which Open MPI uses it: from its key up to the next key.

    The last range ends at `limit`. Open MPI stops at the first key that exceeds the value (a number of ranks or nodes,
    or a message size), even if the keys are unsorted, and uses the previous entry. If `first` is given, the first range
    starts there instead of at the first key, for releases that use the first entry if all keys are too large.
    """
    if limit == RANKS_MAX:
        keys = [to_int(key) for key in keys]
    lows = list(accumulate(keys, max))
    highs = [low - 1 for low in lows[1:]] + [limit][: len(lows)]
    if lows and first is not None:
        lows[0] = first
    return list(zip(lows, highs, strict=True))


def _shifted(keys: Sequence[int]) -> list[Range]:
    """Return the ranges of 6.x for communicator sizes.

    An entry's range begins after the previous range and ends before the entry's key; the last range has no upper limit.
    """
    ranges: list[Range] = []
    low = 0
    for number, key in enumerate(keys):
        high = RANKS_MAX if number == len(keys) - 1 else to_int(key - 1)
        ranges.append((low, high))
        low = to_int(high + 1)
    return ranges


def _up_to_next(keys: Sequence[int]) -> list[Range]:
    """Return the ranges of 6.x for message sizes.

    A row's range ends at the next row's size minus 1, even if the rows are unsorted. The range has no upper limit if no
    row follows or if the next size is 0, since 0 - 1 is the largest size_t.
    """
    return [(key, (after - 1) % (SIZE_MAX + 1)) for key, after in zip(keys, [*keys[1:], 0], strict=False)]
