# SPDX-License-Identifier: Apache-2.0
"""Write and read the text file of a mix, which `reprise-replay` also reads.

docs/reference/mix-file.md describes the format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.mix import VERSION, Call, Item, Loop, Mix

FIRST = f"reprise-mix {VERSION}"
DEPTH_MAX = 64
"""Maximum depth of nested loops; reprise-replay has the same limit."""
RANKS_MAX = 1 << 20
CALL = re.compile(r"[a-z_]+(?: [A-Za-z]=\S+)*")


def write(mix: Mix, path: Path) -> None:
    """Write a mix to a file atomically, by renaming a temporary file.

    Raises:
        ProxyError: The file cannot be written.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("w", encoding="ascii") as out:
            out.writelines(f"{line}\n" for line in lines_of(mix))
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ProxyError(f"{path}: the mix cannot be written: {error.strerror}") from error


def lines_of(mix: Mix) -> Iterator[str]:
    """Yield the lines of a mix file, without line ends."""
    yield FIRST
    yield f"ranks {mix.ranks}"
    yield f"source {mix.source}"
    yield f"seconds {mix.seconds:.6f}"
    for kind, count in sorted(mix.left_out.items()):
        yield f"left_out {kind} {count}"
    for index, members in enumerate(mix.comms):
        yield f"comm {index} {_ranges(members)}"
    for rank, program in enumerate(mix.programs):
        yield f"rank {rank}"
        yield from _program(program)


def read(path: Path) -> Mix:
    """Read a mix from a file.

    Raises:
        ProxyError: The file cannot be read, is not a mix, is truncated, or has another version.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ProxyError(f"{path}: the mix cannot be read: {error}") from error
    if not lines or lines[0] != FIRST:
        raise ProxyError(f"{path}: not a mix of version {VERSION}: record the application again, `reprise tune record`")
    reading = _Reading()
    for number, line in enumerate(lines[1:], start=2):
        try:
            reading.take(line)
        except (ValueError, IndexError) as error:
            raise ProxyError(f"{path}:{number}: not a line of a mix: {line[:60]!r}") from error
    said, programs = reading.said, reading.programs
    if len(programs) != reading.ranks:
        raise ProxyError(f"{path}: truncated: {len(programs)} of {reading.ranks} ranks: record the application again")
    return Mix(reading.comms, programs, said["source"], reading.seconds, reading.left_out)


class _Reading:
    """Parser of a mix file, with the content of the lines read so far."""

    def __init__(self) -> None:
        self.comms: list[tuple[int, ...]] = []
        self.programs: list[list[Item]] = []
        self.left_out: dict[str, int] = {}
        self.said = {"source": ""}
        self.ranks = 0
        self.seconds = 0.0
        self._open: list[list[Item]] = []  # items of the current rank, and of each loop in it that has not ended

    def take(self, line: str) -> None:
        """Process a line of the file.

        Raise ValueError or IndexError if the line is not valid in a mix file.
        """
        word, _, rest = line.partition(" ")
        if not word or word.startswith("#"):
            return
        if word == "comm":
            self.comms.append(_members(rest.split()[1], self.ranks))
        elif word == "ranks":
            self.ranks = int(rest)
            if not 0 < self.ranks <= RANKS_MAX:
                raise ValueError
        elif word == "seconds":
            self.seconds = float(rest)
        elif word == "left_out":
            kind, count = rest.split()
            self.left_out[kind] = int(count)
        elif word in self.said:
            self.said[word] = rest
        elif word == "rank":
            self._open = [[]]
            self.programs.append(self._open[0])
        else:
            self._take_item(line, word, rest)

    def _take_item(self, line: str, word: str, rest: str) -> None:
        if word == "loop":
            if len(self._open) > DEPTH_MAX:
                raise ValueError
            loop = Loop(int(rest), [])
            self._open[-1].append(loop)
            self._open.append(loop.body)
        elif word == "end":
            self._open.pop()
        else:
            text, _, gap = line.partition(" g=")
            if not CALL.fullmatch(text):
                raise ValueError
            self._open[-1].append(Call(text, float(gap or 0)))


def _program(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Call):
            yield f"{item.text} g={item.gap_us:.2f}" if item.gap_us >= 0.01 else item.text
        else:
            yield f"loop {item.count}"
            yield from _program(item.body)
            yield "end"


def _ranges(members: tuple[int, ...]) -> str:
    """Format the members of a communicator in their order, with consecutive ranks as `FIRST-LAST`."""
    parts: list[list[int]] = []
    for rank in members:
        if parts and parts[-1][1] == rank - 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _members(text: str, ranks: int) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) >= ranks or len(found) >= ranks:
            raise ValueError
        found += range(int(first), int(last or first) + 1)
    return tuple(found)
