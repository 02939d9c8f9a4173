# SPDX-License-Identifier: Apache-2.0
"""How Open MPI's readers take numbers and words out of a file: with the C library's scanf, and with no grammar.

Whatever is no number where one is wanted is skipped, a character at a time, and a "#" with the rest of its line. Seen
with glibc 2.31, 2.36 and 2.41.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

LONG_MAX = 2**63 - 1
SIZE_T_MAX = 2**64 - 1
LONG_DIGITS = 19  # every number with fewer fits into a long
MOST_DIGITS = 25  # more than a number of 64 bits has; Python refuses to convert thousands
ZERO = ord("0")
WORD_MAX = 32  # bytes: a longer word is read as two

# A number as "%li" takes one ("0x" without digits is 0); else what is skipped at once: a comment, or characters. A
# lone sign has been taken when the number turns out to be none, so that the character behind it is what is skipped.
_SKIPPED = rb"[^0-9+#-]+|[+-]?(?:#[^\n]*|.)"
_NUMBER = re.compile(rb"[ \n]*(?P<number>[+-]?(?:0[xX][0-9a-fA-F]*|0[0-7]*|[1-9][0-9]*))|" + _SKIPPED, re.DOTALL)
# Of a build with glibc 2.38 or newer, as Debian 13 has: "0b" begins a binary number.
_NUMBER_2_38 = re.compile(
    rb"[ \n]*(?P<number>[+-]?(?:0[xX][0-9a-fA-F]*|0[bB][01]*|0[0-7]*|[1-9][0-9]*))|" + _SKIPPED, re.DOTALL
)
_SIZE = re.compile(rb"(?P<number>[+-]?[0-9]+)|" + _SKIPPED, re.DOTALL)
_WORD = re.compile(rb"[ \t\n\v\f\r]*([^ \t\n\v\f\r]{1,%d})" % WORD_MAX)
_HEADER = re.compile(rb"rule-file-version-\s*(?P<version>[+-]?[0-9]+)")
_LITERAL = b"rule-file-version-"


class EndError(ValueError):
    """The file ends where something is wanted."""


def to_int(value: int) -> int:
    """What a C int keeps of a long."""
    return (value + 2**31) % 2**32 - 2**31


@dataclass
class Scan:
    """A place in a file's bytes, that moves on as the readers do; `binary`: as a build with glibc 2.38 or newer."""

    data: bytes
    binary: bool = False
    at: int = 0
    _lines: list[int] = field(default_factory=list)

    def number(self) -> int:
        """The next number as a C long: octal after a leading 0, hexadecimal after 0x, at most what a long holds."""
        pattern = _NUMBER_2_38 if self.binary else _NUMBER
        while match := pattern.match(self.data, self.at):
            self.at = match.end()
            word = match["number"]
            if word is not None:
                return _value(word)
        raise EndError

    def size(self) -> int:
        """The next number as a size_t: decimal, whatever it begins with, and below 0 counted down from the largest."""
        while match := _SIZE.match(self.data, self.at):
            self.at = match.end()
            word = match["number"]
            if word is not None:
                magnitude = decimal(word.lstrip(b"+-"))
                if magnitude > SIZE_T_MAX:
                    return SIZE_T_MAX
                return -magnitude % (SIZE_T_MAX + 1) if word.startswith(b"-") else magnitude
        raise EndError

    def word(self) -> str:
        """The next word; comments between words are skipped."""
        while match := _WORD.match(self.data, self.at):
            self.at = match.end()
            if not match[1].startswith(b"#"):
                return match[1].decode("latin-1")
            end = self.data.find(b"\n", self.at)
            self.at = len(self.data) if end < 0 else end + 1
        raise EndError

    def header(self) -> int | None:
        """The version of a header, which must be the first bytes of the file; None without one.

        As scanf does it, the letters that agree with the beginning of a header are gone even where it is none.
        """
        match = _HEADER.match(self.data, self.at)
        if match:
            self.at = match.end()
            return to_int(_value(match["version"].lstrip(b"0") or b"0"))
        for expected in _LITERAL:
            if self.data[self.at : self.at + 1] != bytes((expected,)):
                break
            self.at += 1
        return None

    def digit_follows(self) -> bool:
        """Whether the next character of this line is a digit, blanks and tabs left out (and taken)."""
        while self.data[self.at : self.at + 1] in (b" ", b"\t"):
            self.at += 1
        return self.data[self.at : self.at + 1].isdigit()

    def takes(self, character: bytes) -> bool | None:
        """Whether `character` comes next, which is then taken; lines, comments and blanks are passed over.

        None at the end of the file.
        """
        while found := self.data[self.at : self.at + 1]:
            if found == character:
                self.at += 1
                return True
            if found == b"#":
                end = self.data.find(b"\n", self.at)
                self.at = len(self.data) if end < 0 else end + 1
            elif found in (b" ", b"\t", b"\n"):
                self.at += 1
            else:
                return False
        return None

    @property
    def line(self) -> int:
        """The number of the line, from 1, that the last thing taken stands in."""
        if not self._lines:
            self._lines = [match.start() for match in re.finditer(b"\n", self.data)]
        return bisect_left(self._lines, self.at - 1) + 1


def _value(word: bytes) -> int:
    """The value of a number, at most what a long holds."""
    if len(word) < LONG_DIGITS and word.isdigit() and (word[0] != ZERO or len(word) == 1):
        return int(word)
    digits = word.lstrip(b"+-").lower()
    if digits.startswith(b"0x"):
        value = int(digits[2:] or b"0", 16)
    elif digits.startswith(b"0b"):
        value = int(digits[2:] or b"0", 2)
    elif digits.startswith(b"0"):
        value = int(digits, 8)
    else:
        value = decimal(digits)
    return max(-LONG_MAX - 1, -value) if word.startswith(b"-") else min(LONG_MAX, value)


def decimal(digits: bytes) -> int:
    """The value of decimal digits; of more than any C type holds, something larger than they all."""
    digits = digits.lstrip(b"0") or b"0"
    return int(digits) if len(digits) <= MOST_DIGITS else 10**MOST_DIGITS
