# SPDX-License-Identifier: Apache-2.0
"""Check of tuner files; the plugins report no mistakes in a line, but guess its meaning or skip it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprise.tuner.nccl.tuner_decision import exists
from reprise.tuner.nccl.tuner_lines import (
    ALGORITHMS,
    ALL_FIELDS,
    ANY,
    COLLECTIVES,
    FIELDS,
    KEPT,
    LINE_BYTES,
    PROTOCOLS,
    Line,
    numbered,
)

_NUMBER = re.compile(r"-1|[0-9]{1,9}")
_SIZE = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True)
class Mistake:
    """A mistake in a line of a tuner file."""

    number: int
    text: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.text}"


def mistakes(data: bytes) -> list[Mistake]:
    """Return the mistakes in a tuner file, by line; all plugins read a file without mistakes in the same way."""
    found: list[Mistake] = []
    good: list[int] = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        texts = list(_in_form(raw))
        found += [Mistake(number, text) for text in texts]
        if not texts:
            good.append(number)
    lines = [(number, line) for number, line in numbered(data) if number in good]
    found += [Mistake(number, text) for number, line in lines for text in _in_content(line)]
    found += [
        Mistake(number, f"has no effect, because line {earlier} matches all its calls: remove one of them")
        for index, (number, line) in enumerate(lines)
        for earlier in _hidden_by(line, lines[:index])
    ]
    return sorted(found, key=lambda one: one.number)


def _in_form(raw: bytes) -> Iterator[str]:
    """Yield the reasons why plugins may read a line differently from each other, or not as it is meant."""
    if len(raw) > LINE_BYTES - 1:
        yield f"has {len(raw)} bytes, and a plugin reads at most {LINE_BYTES - 1}: shorten it"
        return
    if not raw or raw.startswith(b"#"):
        return
    fields = raw.decode(errors="replace").split(",")
    if not FIELDS <= len(fields) <= ALL_FIELDS:
        yield f"has {len(fields)} fields and is not a line of 8 to 10: correct it"
        return
    for name, value, known in zip(
        ("collective", "algorithm", "protocol"),
        (fields[0], fields[3], fields[4]),
        (COLLECTIVES, ALGORITHMS, PROTOCOLS),
        strict=True,
    ):
        if value not in known:
            yield f"{name} {value!r} is unknown, and a plugin takes another: use one of {', '.join(known)}"
    for value in fields[1:3]:
        if not _SIZE.fullmatch(value):
            yield f"size {value!r} is not a number of bytes: use digits only"
    for value in fields[5:]:
        if not _NUMBER.fullmatch(value):
            yield f"{value!r} is not a number: use digits, or -1 for any"


def _in_content(line: Line) -> Iterator[str]:
    if line.low > line.high:
        yield f"matches no size, because {line.low} is larger than {line.high}: swap them"
    if not exists(line.collective, line.algorithm, line.protocol):
        yield f"NCCL has no {line.algorithm} with {line.protocol} for {line.collective} and ignores the line: remove it"
    if line.channels == KEPT:
        yield "-1 channels is 1 channel with NCCL's example plugin: use 0, with which NCCL chooses their number"
    if 0 in (line.nodes, line.ranks):
        yield "matches no communicator, because none has 0 nodes or ranks: use -1 for any number"


def _hidden_by(line: Line, earlier: Sequence[tuple[int, Line]]) -> list[int]:
    """Return a list with the number of the first earlier line that matches all calls of `line`, or an empty list.

    NCCL ignores lines with combinations that do not exist, so such lines hide nothing.
    """
    return [number for number, one in earlier if _covers(one, line)][:1]


def _covers(one: Line, other: Line) -> bool:
    return (
        one.collective == other.collective
        and one.low <= other.low <= other.high <= one.high
        and exists(one.collective, one.algorithm, one.protocol)
        and all(
            getattr(one, name) in (ANY, getattr(other, name)) for name in ("nodes", "ranks", "operations", "registered")
        )
    )
