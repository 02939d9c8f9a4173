# SPDX-License-Identifier: Apache-2.0
"""The rules file of Open MPI's component `han`, which selects a component for each collective and level of the machine.

The file has nested lists:

- the number of collectives; for each collective, its name or id and the number of its levels;
- for each level, its name or id and the number of its communicator sizes;
- for each communicator size (the first one is 1), the size and the number of its rows;
- for each row, the message size in bytes of one rank (the first one is 0 or 1), and the component.

From 5.0 on, "@" and an algorithm may follow the component han. In all releases, a row may end with segment lengths in
brackets, which have no effect.

To look up a call, Open MPI searches the entries from the last to the first for a size that does not exceed that of the
call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from reprise.templates import render
from reprise.tuner.openmpi.algorithms import Algorithms
from reprise.tuner.openmpi.catalogue import NAMES, collective_named
from reprise.tuner.openmpi.rules.classic_form import DroppedError
from reprise.tuner.openmpi.rules.scan import EndError, Scan, to_int

LEVELS = ("intra_node", "inter_node", "global_communicator")
COMPONENTS = ("self", "basic", "libnbc", "tuned", "sm", "adapt", "han")


@dataclass(frozen=True)
class HanRow:
    """A row: the component for messages of `size` bytes per rank or more.

    `algorithm`: id of han's algorithm if the component is han (0: han's default).
    """

    size: int
    component: str
    algorithm: int = 0
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class HanEntry:
    """An entry: the rows for communicators of `ranks` ranks or more on a level."""

    ranks: int
    rows: Sequence[HanRow]


# entries in the order of the file, by (collective, level)
HanRules: TypeAlias = Mapping[tuple[str, str], Sequence[HanEntry]]


def decide(rules: HanRules, collective: str, level: str, ranks: int, size: int) -> HanRow | None:
    """Return the row for a call with `size` bytes from each of `ranks` ranks on this level.

    Return None if the file has no row for the call, so that MCA parameters decide.
    """
    entries = rules.get((collective, level), ())
    entry = next((entry for entry in reversed(entries) if entry.ranks <= ranks), None)
    return next((row for row in reversed(entry.rows) if row.size <= size), None) if entry else None


def read(data: bytes, names: bool, algorithms: Algorithms) -> HanRules:
    """Return the rules of a file for a release.

    `names`: the release accepts names of levels and "@", as releases from 5.0 on do. `algorithms` are the algorithms of
    han by collective. Raise DroppedError if the file is dropped.
    """
    return _Reader(data, names, algorithms).file()


class _Reader:
    def __init__(self, data: bytes, names: bool, algorithms: Algorithms) -> None:
        self.scan = Scan(data)
        self.names = names
        self.algorithms = algorithms

    def number(self, what: str, least: int) -> int:
        try:
            value = self.scan.number()
        except EndError:
            raise DroppedError(f"the file ends where {what} should be") from None
        if value < least:
            raise self.bad(f"{what} is {value}, but must be at least {least}")
        return value

    def word(self, what: str) -> str:
        try:
            return self.scan.word()
        except EndError:
            raise DroppedError(f"the file ends where {what} should be") from None

    def bad(self, why: str) -> DroppedError:
        return DroppedError(f"line {self.scan.line}: {why}")

    def file(self) -> HanRules:
        rules: dict[tuple[str, str], Sequence[HanEntry]] = {}
        for _ in range(self.number("the number of collectives", 1)):
            name = self.collective()
            for key in [key for key in rules if key[0] == name]:
                del rules[key]
            for _ in range(self.number("a number of levels", 0)):
                level = self.level()
                count = self.number("a number of communicator sizes", 0)
                rules[name, level] = [self.entry(name, number) for number in range(count)]
        return rules

    def collective(self) -> str:
        word = self.word("a collective")
        name = collective_named(word)
        if name is None:
            number = _decimal(word)
            if number is None or not 0 <= number < len(NAMES):
                raise self.bad(f"{word!r} is not a collective")
            name = NAMES[number]
        return name

    def level(self) -> str:
        if not self.names:
            number = self.number("a level", 0)
            if number >= len(LEVELS):
                raise self.bad(f"{number} is not a level: use 0 to {len(LEVELS) - 1}")
            return LEVELS[number]
        word = self.word("a level")
        if word in LEVELS:
            return word
        found = _decimal(word)
        if found is None or not 0 <= found < len(LEVELS):
            raise self.bad(f"{word!r} is not a level: use {', '.join(LEVELS)}")
        return LEVELS[found]

    def entry(self, collective: str, number: int) -> HanEntry:
        ranks = self.number("a communicator size", 1)
        if number == 0 and ranks > 1:
            raise self.bad(f"the first communicator size of a level is {ranks}, not 1")
        return HanEntry(
            to_int(ranks), [self.row(collective, i) for i in range(self.number("a number of message sizes", 0))]
        )

    def row(self, collective: str, number: int) -> HanRow:
        size = self.scan_size()
        where = f"line {self.scan.line}"
        if number == 0 and size > 1:
            raise self.bad(f"the first message size of an entry is {size}, not 0")
        component = self.word("a component")
        if component not in COMPONENTS:
            raise self.bad(f"{component!r} is not a component: use {', '.join(COMPONENTS)}")
        algorithm = 0
        if self.names and component == "han" and self.scan.takes(b"@"):
            algorithm = self.algorithm(collective)
        self.segments()
        return HanRow(size, component, algorithm, where)

    def scan_size(self) -> int:
        try:
            return self.scan.size()
        except EndError:
            raise DroppedError("the file ends where a message size should be") from None

    def algorithm(self, collective: str) -> int:
        word = self.word("an algorithm")
        known = self.algorithms.get(collective, {})
        named = next((number for number, name in known.items() if name == word), None)
        number = _decimal(word) if named is None else named
        if number is None or number not in known:
            raise self.bad(f"{word!r} is not an algorithm of han's {collective}: use {', '.join(known.values())}")
        return number

    def segments(self) -> None:
        if self.scan.takes(b"["):
            while self.scan.takes(b"]") is False:
                self.number("a segment length", -(2**63))


def _decimal(word: str) -> int | None:
    return to_int(int(word)) if re.fullmatch(r"[+-]?[0-9]+", word) else None


def write(rules: HanRules, names: bool, algorithms: Algorithms, provenance: Sequence[str] = ()) -> str:
    """Return the text of a file with these rules (at least one).

    `names`: write the file for 5.0 and newer. Raise AssertionError if reading the text does not give `rules` again, for
    example because the first size is not 0 or the first communicator size is not 1.
    """
    collectives = {}
    for name in dict.fromkeys(name for name, _ in rules):
        levels = [(level, rules[name, level]) for level in LEVELS if (name, level) in rules]
        collectives[name] = levels
    text = render(
        "han-rules.j2",
        provenance=[" ".join(line.split()) for line in provenance],
        collectives=collectives,
        level_words={level: level if names else str(LEVELS.index(level)) for level in LEVELS},
        algorithms=algorithms,
    )
    if read(text.encode(), names, algorithms) != rules:
        raise AssertionError("reading a file that was written for han does not give the same rules")
    return text
