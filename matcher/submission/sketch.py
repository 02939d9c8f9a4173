# SPDX-License-Identifier: Apache-2.0
"""Sketches of batch scripts, with which the similarity of two scripts can be estimated without storing them.

A sketch is a text of SIZE letters, made from the script's sequences of three words. Each letter comes from one random
order (shuffle) of all possible sequences. The script's first sequence in this order is hashed to one of 64 letters
(min-wise hashing: Broder 1997; with a few bits: Li and König 2010). If J is the share of common sequences among all
sequences of two scripts, their letters at the same position are equal with probability J + (1 - J) / 64. The comparer
`hamming` estimates this probability. The estimate's standard error is at most 1 / (2 sqrt(SIZE)) = 0.09. Comments,
directives, digits and most punctuation are ignored, so that scripts that differ only in parameters have equal sketches.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

from reprise.matcher.submission import minwise

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SIZE = 32
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"
CHARACTERS = 32_768  # maximum number of characters of a script that are read
WORDS = 4096  # maximum number of words that are read; a sketch of 4096 words takes 5 ms
SHINGLE = 3  # words in a sequence, as in `minwise`

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]+|-+(?=\w)|[|<>&$/=]")


def sketch(script: str) -> str:
    """Return the sketch of a script; "" if the script has no words."""
    words = _words(script)
    if not words:
        return ""
    numbers = [_number(word) for word in words] + [0] * (SHINGLE - len(words))
    return _text(minwise.letters(numbers, SIZE))


def set_sketch(items: npt.NDArray[np.uint64]) -> str:
    """Return the sketch of a set of numbers below 2**64; "" for an empty set."""
    return _text(minwise.letters_of_set(items, SIZE)) if len(items) else ""


def shared(similarity: float) -> float:
    """Return an estimate of the share (0 to 1) of two sets' items that are in both sets.

    `similarity` is the result of the comparer `hamming` for the sketches of the two sets.
    """
    by_chance = 1 / len(LETTERS)
    return max(0.0, (similarity - by_chance) / (1 - by_chance))


def _text(numbers: list[int]) -> str:
    return "".join([LETTERS[number] for number in numbers])


@lru_cache(maxsize=8192)  # most words occur in many scripts
def _number(word: str) -> int:
    return zlib.crc32(word.encode(errors="replace"))


def _words(script: str) -> list[str]:
    text = _COMMENT.sub("", script[:CHARACTERS])
    return _WORD.findall(text)[:WORDS]
