# SPDX-License-Identifier: Apache-2.0
"""Reader of numbers and words that behaves like Open MPI, which uses C's scanf instead of a grammar.

Where a number is expected, any other character is skipped, and so is "#" with the rest of its line. This was observed
with glibc 2.31, 2.36, 2.41 and 2.43.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

LONG_MAX = 2**63 - 1
SIZE_T_MAX = 2**64 - 1
LONG_DIGITS = 19  # every number with fewer digits fits into a long
MOST_DIGITS = 25  # maximum digits to convert; 64-bit numbers have fewer, and Python rejects thousands of digits
ZERO = ord("0")
WORD_MAX = 32  # in bytes; a longer word is read as several words

# Matches a number as "%li" accepts it ("0x" without digits is 0), or else the characters or the comment to skip. scanf
# consumes a sign that no number follows, so the character after the sign is skipped, too.
_SKIPPED = rb"[^0-9+#-]+|[+-]?(?:#[^\n]*|.)"
_NUMBER = re.compile(rb"[ \n]*(?P<number>[+-]?(?:0[xX][0-9a-fA-F]*|0[0-7]*|[1-9][0-9]*))|" + _SKIPPED, re.DOTALL)
# For builds with glibc BINARY or newer, as in Debian 13, where "0b" begins a binary number.
_NUMBER_BINARY = re.compile(
    rb"[ \n]*(?P<number>[+-]?(?:0[xX][0-9a-fA-F]*|0[bB][01]*|0[0-7]*|[1-9][0-9]*))|" + _SKIPPED, re.DOTALL
)
# For glibc STRICT or newer, where a prefix without digits is no number: like a sign, it is consumed.
_NUMBER_STRICT = re.compile(
    rb"[ \n]*(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0(?![xXbB])[0-7]*|[1-9][0-9]*))|"
    rb"[^0-9+#-]+|[+-]?(?:0[xXbB])?(?:#[^\n]*|.)",
    re.DOTALL,
)
_SIZE = re.compile(rb"(?P<number>[+-]?[0-9]+)|" + _SKIPPED, re.DOTALL)
_WORD = re.compile(rb"[ \t\n\v\f\r]*([^ \t\n\v\f\r]{1,%d})" % WORD_MAX)
_HEADER = re.compile(rb"rule-file-version-\s*(?P<version>[+-]?[0-9]+)")
_LITERAL = b"rule-file-version-"

OLDEST, BINARY, STRICT = 0, 38, 43
"""Minor versions of glibc (43 for 2.43) from which numbers are read differently. 2.42 was not observed."""


class EndError(ValueError):
    """The file ends where a number or a word is expected."""


def to_int(value: int) -> int:
    """Return a C long converted to a C int."""
    return (value + 2**31) % 2**32 - 2**31


@dataclass
class Scan:
    """A position in a file's bytes, which advances just as it does when Open MPI reads the file.

    `libc`: minor version of the glibc that Open MPI was built with. From BINARY on, 0b101 is a binary number.
    """

    data: bytes
    libc: int = OLDEST
    at: int = 0
    _lines: list[int] = field(default_factory=list)

    def number(self) -> int:
        """Return the next number as a C long.

        The number is octal after a leading 0, hexadecimal after 0x, and limited to the range of a long.
        """
        pattern = _NUMBER_STRICT if self.libc >= STRICT else _NUMBER_BINARY if self.libc >= BINARY else _NUMBER
        while match := pattern.match(self.data, self.at):
            self.at = match.end()
            word = match["number"]
            if word is not None:
                return _value(word)
        raise EndError

    def size(self) -> int:
        """Return the next number as a size_t.

        The number is always decimal; a negative number wraps around, so -1 is the largest size_t.
        """
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
        """Return the next word; comments between words are skipped."""
        while match := _WORD.match(self.data, self.at):
            self.at = match.end()
            if not match[1].startswith(b"#"):
                return match[1].decode("latin-1")
            end = self.data.find(b"\n", self.at)
            self.at = len(self.data) if end < 0 else end + 1
        raise EndError

    def header(self) -> int | None:
        """Return the version in a header, or None if the file does not begin with a header.

        As in scanf, letters that match the beginning of a header are consumed even if it is incomplete.
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
        """Skip blanks and tabs, and return whether the next character of this line is a digit."""
        while self.data[self.at : self.at + 1] in (b" ", b"\t"):
            self.at += 1
        return self.data[self.at : self.at + 1].isdigit()

    def takes(self, character: bytes) -> bool | None:
        """Skip blanks, line ends and comments, consume `character` if it comes next, and return whether it did.

        Return None at the end of the file.
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
        """Line number (counted from 1) of the item that was read most recently."""
        if not self._lines:
            self._lines = [match.start() for match in re.finditer(b"\n", self.data)]
        return bisect_left(self._lines, self.at - 1) + 1


def _value(word: bytes) -> int:
    """Return the value of a number, limited to the range of a long."""
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
    """Return the value of decimal digits, or a value that exceeds all C integer types if there are too many digits."""
    digits = digits.lstrip(b"0") or b"0"
    return int(digits) if len(digits) <= MOST_DIGITS else 10**MOST_DIGITS
