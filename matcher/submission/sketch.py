# SPDX-License-Identifier: Apache-2.0
"""Sketches of batch scripts' three-word sequences, which give the similarity of two scripts without keeping them.

A sketch is a text of SIZE letters. Each letter comes from one shuffle of all possible sequences: it is the first
sequence of the script in that order, cut to one letter of 64 (min-wise hashing: Broder 1997; of a few bits: Li and
König 2010). The probability that two scripts have the same letter at a place is their share of common sequences, plus 1
in 64 otherwise: the comparer `hamming` finds J + (1 - J) / 64, for a share J of common ones among all. Its standard
error is at most 1 / (2 sqrt(SIZE)) = 0.09. Comments, directives, digits and most punctuation do not count, so that a
script with other parameters has the same sketch.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from reprise.matcher.submission import minwise

SIZE = 32
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"
CHARACTERS = 32_768  # characters of a script that are read
WORDS = 4096  # words of these, at most; together they take 5 ms
SHINGLE = 3  # words in a sequence, as in `minwise`

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]+|-+(?=\w)|[|<>&$/=]")


def sketch(script: str) -> str:
    """Return the sketch of a script; "" if nothing in it counts."""
    words = _words(script)
    if not words:
        return ""
    numbers = [_number(word) for word in words] + [0] * (SHINGLE - len(words))
    return _text(minwise.letters(numbers, SIZE))


def set_sketch(items: npt.NDArray[np.uint64]) -> str:
    """Return the sketch of a set, given a number below 2**64 for each item; "" for an empty set."""
    return _text(minwise.letters_of_set(items, SIZE)) if len(items) else ""


def shared(similarity: float) -> float:
    """Return the share of common items among all, 0 to 1, for two sketches of this `hamming` similarity."""
    by_chance = 1 / len(LETTERS)
    return max(0.0, (similarity - by_chance) / (1 - by_chance))


def _text(numbers: list[int]) -> str:
    return "".join([LETTERS[number] for number in numbers])


@lru_cache(maxsize=8192)  # scripts have most words in common
def _number(word: str) -> int:
    return zlib.crc32(word.encode(errors="replace"))


def _words(script: str) -> list[str]:
    text = _COMMENT.sub("", script[:CHARACTERS])
    return _WORD.findall(text)[:WORDS]
