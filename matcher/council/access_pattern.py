# SPDX-License-Identifier: Apache-2.0
"""Patterns of access, the contexts for which windows are learned (Bez 2020, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reprise.matcher.errors import CouncilError

UNKNOWN = "unknown"
"""Text of a pattern that was not detected. In Python, it is None."""

SIZE_CLASSES = {"0K": 0, "4K": 2**12, "16K": 2**14, "64K": 2**16, "256K": 2**18, "1M": 2**20, "4M": 2**22}
"""Classes of the request size, by name: the smallest size in bytes.

Each class spans a factor of four, like the sizes that Bez 2020 distinguishes (32 and 256 KiB, below and above a stripe
of all servers). Finer classes would divide the same measurements among more contexts, which slows learning.
"""


class Operation(StrEnum):
    """Kind of the requests."""

    READ = "read"
    WRITE = "write"


class Files(StrEnum):
    """Number of files that the processes use: one for each process, or one for all."""

    PER_PROCESS = "per-process"
    SHARED = "shared"


class Spatiality(StrEnum):
    """Order of the requests of a process in a file: one region, or pieces with a fixed gap."""

    CONTIGUOUS = "contiguous"
    STRIDED = "strided"


@dataclass(frozen=True, order=True)
class Pattern:
    """Context of a bandit. `size` is a name in `SIZE_CLASSES`.

    The text of a pattern has the four parts in this order, such as `write/shared/strided/16K`.
    """

    operation: Operation
    files: Files
    spatiality: Spatiality
    size: str

    def __str__(self) -> str:
        return "/".join((self.operation, self.files, self.spatiality, self.size))


def size_class(size: float) -> str:
    """Return the name of the class of a request size in bytes, which must not be negative."""
    return [name for name, smallest in SIZE_CLASSES.items() if smallest <= size][-1]


def pattern_of(text: str) -> Pattern | None:
    """Return the pattern with this text, None for `UNKNOWN`; raise CouncilError for any other text."""
    if text == UNKNOWN:
        return None
    try:
        operation, files, spatiality, size = text.split("/")
        found = Pattern(Operation(operation), Files(files), Spatiality(spatiality), size)
    except ValueError:
        found = None
    if found is None or found.size not in SIZE_CLASSES:
        raise CouncilError(
            f"{text[:60]!r} is not a pattern: write {UNKNOWN} or OPERATION/FILES/SPATIALITY/SIZE, such as "
            "write/shared/strided/16K"
        )
    return found
