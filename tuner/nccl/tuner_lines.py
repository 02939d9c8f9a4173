# SPDX-License-Identifier: Apache-2.0
"""Lines of a tuner file: what they contain, how the tuner plugins read them, and how they are written.

The format is that of the plugin `example` in NCCL's and RCCL's source code (ext-tuner/example, plugins/tuner/example),
as documented there and observed with the plugins themselves (docs/reference/nccl-tuner-files.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# The position of a name is its number in the interface of tuner plugins.
COLLECTIVES = ("broadcast", "reduce", "allgather", "reducescatter", "allreduce")
ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
PROTOCOLS = ("ll", "ll128", "simple")
# Names that a plugin assumes in place of a name that it does not know.
UNKNOWN_COLLECTIVE, UNKNOWN_ALGORITHM, UNKNOWN_PROTOCOL = "allreduce", "ring", "simple"

ANY = -1  # matches every number of nodes, ranks and operations, and both kinds of buffers
KEPT = -1  # in place of a number of channels: keep the plugin's initial number, 1 in NCCL's plugin and 0 in RCCL's
BY_NCCL = 0  # in place of a number of channels: NCCL chooses the number
LARGEST = 2**63 - 1  # bytes; larger than any message
LINE_BYTES = 255  # the plugin in C reads a longer line as several lines
FIELDS, ALL_FIELDS = 8, 10  # minimum number of fields of a line, and their number with both optional fields

C, CPP = "c", "c++"
READERS = (C, CPP)
"""The two readers of tuner files: the plugin in C (NCCL 2.27 and later, RCCL), and its successor in C++."""

_INTEGER = re.compile(rb"[ \t\n\v\f\r]*([+-]?[0-9]+)")


@dataclass(frozen=True)
class Line:
    """A line of a tuner file: the calls that it matches, and what they use.

    It matches calls of `collective` with `low` to `high` bytes in communicators of `nodes` nodes and `ranks` ranks,
    with `operations` operations in their group, and with buffers that are registered (1) or not (0); -1 matches all.
    """

    collective: str
    low: int
    high: int
    algorithm: str
    protocol: str
    channels: int = BY_NCCL
    nodes: int = ANY
    ranks: int = ANY
    operations: int = ANY
    registered: int = ANY

    def text(self) -> str:
        """Return the line with all fields, without a newline."""
        return ",".join(str(value) for value in vars(self).values())


def write(lines: Sequence[Line], about: Sequence[str]) -> str:
    """Return the text of a tuner file; `about` become comments, which are truncated to what every plugin reads."""
    comments = [f"# {text}".encode()[: LINE_BYTES - 1].decode(errors="ignore") for text in about]
    return "".join(f"{text}\n" for text in (*comments, *(line.text() for line in lines)))


def read(data: bytes, reader: str = C) -> list[Line]:
    """Return the lines that a plugin reads from a file, as it understands them, in order."""
    return [line for _, line in numbered(data, reader)]


def numbered(data: bytes, reader: str = C) -> Iterator[tuple[int, Line]]:
    """Yield the lines that a plugin reads, each with its number in the file, from 1."""
    for number, raw in enumerate(data.split(b"\n"), 1):
        pieces = [raw] if reader == CPP else _pieces(raw)
        for piece in pieces:
            if piece and not piece.startswith(b"#"):
                fields = _fields(piece, reader)
                if FIELDS <= len(fields) <= ALL_FIELDS:
                    yield number, _line(fields)


def _pieces(raw: bytes) -> list[bytes]:
    """Return the parts of a line that the plugin in C reads one after the other as lines."""
    return [raw[start : start + LINE_BYTES] for start in range(0, len(raw), LINE_BYTES)]


def _fields(piece: bytes, reader: str) -> list[bytes]:
    """Return the fields of a line: C skips empty ones and stops at the tenth; C++ skips only an empty last one."""
    fields = piece.split(b",")
    if reader == CPP:
        return [field.strip(b" \t") for field in (fields if fields[-1] else fields[:-1])]
    return [field.strip(b" \t") for field in fields if field][:ALL_FIELDS]


def _line(fields: Sequence[bytes]) -> Line:
    collective, low, high, algorithm, protocol, *rest = fields
    return Line(
        _named(collective, COLLECTIVES, UNKNOWN_COLLECTIVE),
        _size(low),
        _size(high),
        _named(algorithm, ALGORITHMS, UNKNOWN_ALGORITHM),
        _named(protocol, PROTOCOLS, UNKNOWN_PROTOCOL),
        *map(_integer, rest),
    )


def _named(field: bytes, names: Sequence[str], otherwise: str) -> str:
    return next((name for name in names if name.encode() == field), otherwise)


def _integer(field: bytes) -> int:
    """Return a C int, as atoi(3) reads it: 0 if there is no number, the low 32 bits of a long number."""
    found = _INTEGER.match(field)
    value = max(-(2**63), min(2**63 - 1, int(found[1]))) if found else 0
    return (value + 2**31) % 2**32 - 2**31


def _size(field: bytes) -> int:
    """Return a size, as strtoull(3) reads it: a negative number becomes a very large one."""
    found = _INTEGER.match(field)
    if not found:
        return 0
    value = int(found[1])
    return 2**64 - 1 if abs(value) >= 2**64 else value % 2**64
