# SPDX-License-Identifier: Apache-2.0
"""How alike two batch scripts are, without keeping them: a bottom-k sketch of their three-word sequences.

What is kept of a script is at most SIZE numbers of 32 bits. Comments, directives, digits and most punctuation do not
count, so that the same script with other parameters has the same sketch.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]

SIZE = 64  # numbers kept; the standard error of a similarity is at most 1 / (2 sqrt(SIZE)) = 0.06
WORDS = 4096  # words of a script that are looked at: 3 ms
SHINGLE = 3  # words in a row

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]+|-+(?=\w)|[|<>&$/=]")
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def sketch(script: str) -> tuple[int, ...]:
    """The sketch of a script: distinct numbers in rising order; () where nothing in it counts."""
    words = _words(script)
    if not words:
        return ()
    known: dict[str, int] = {}
    numbers = np.array([known.setdefault(w, zlib.crc32(w.encode(errors="replace"))) for w in words], dtype=np.uint64)
    padded = np.concatenate([numbers, np.zeros(max(0, SHINGLE - len(numbers)), dtype=np.uint64)])
    rows = np.lib.stride_tricks.sliding_window_view(padded, SHINGLE)
    sums = _mixed(rows * _FACTORS).sum(axis=1, dtype=np.uint64)
    return tuple(int(number) for number in np.unique(_mixed(sums) >> np.uint64(32))[:SIZE])


def similarity(left: Sequence[int], right: Sequence[int]) -> float:
    """Share of common sequences among all of two scripts, estimated from their sketches; 1 if both are empty."""
    one, other = frozenset(left), frozenset(right)
    smallest = sorted(one | other)[:SIZE]
    if not smallest:
        return 1.0
    return sum(number in one and number in other for number in smallest) / len(smallest)


def _words(script: str) -> list[str]:
    text = _COMMENT.sub("", script)
    return [found.group() for found, _ in zip(_WORD.finditer(text), range(WORDS), strict=False)]


def _mixed(numbers: Numbers) -> Numbers:
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
