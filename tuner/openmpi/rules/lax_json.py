# SPDX-License-Identifier: Apache-2.0
"""JSON as Open MPI 6 parses it, which is less strict than the standard.

A comma may follow the last item, a byte order mark may come first, and any character may follow a backslash. A lone "-"
is 0. An integer that does not fit into 64 bits is not read as an integer. A zero byte after the value ends the file.
This module follows the source of the parser (json-parser, in Open MPI's main branch); no build was available to test it
with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from reprise.tuner.openmpi.rules.scan import decimal

INTEGER_MAX = 2**63 - 1

_BLANK = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"((?:[^"\\\0]|\\[^\0])*)"', re.DOTALL)
_NUMBER = re.compile(rb"-?(?:(?P<integer>0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|[eE][+-]?[0-9]+)|-")
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_PLAIN = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_WORDS: dict[bytes, Value] = {b"true": True, b"false": False, b"null": None}


class NotJSONError(ValueError):
    """The text is not JSON; the message says where it is invalid."""


@dataclass
class Object:
    """A JSON object: its name/value pairs, in order.

    If a name occurs twice, `get` returns the value of the first pair.
    """

    pairs: list[tuple[str, Value]]

    def get(self, name: str) -> Value | Missing:
        """Return the value of a name, or MISSING."""
        return next((value for key, value in self.pairs if key == name), MISSING)


class Missing:
    """The type of MISSING, which `Object.get` returns for a name that does not occur."""


MISSING = Missing()
Value: TypeAlias = Object | list["Value"] | str | int | float | bool | None


def parse(data: bytes) -> Value:
    """Return the value of a whole JSON text.

    Raise NotJSONError if the text is not JSON.
    """
    return _Parser(data.removeprefix(b"\xef\xbb\xbf")).whole()


class _Parser:
    """Parser that keeps unfinished values in a list, not on Python's stack, so that nesting may have any depth."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def fail(self) -> NotJSONError:
        line = self.data.count(b"\n", 0, self.at) + 1
        if self.at >= len(self.data):
            return NotJSONError(f"line {line}: the text ends within a value")
        return NotJSONError(f"line {line}: unexpected {chr(self.data[self.at])!r}")

    def next(self) -> bytes:
        found = _BLANK.match(self.data, self.at)
        self.at = found.end() if found else self.at
        return self.data[self.at : self.at + 1]

    def whole(self) -> Value:
        open_ones: list[Object | list[Value]] = []
        while True:
            value = self.begin()
            if isinstance(value, Object | list) and not self.closes(value):
                open_ones.append(value)
                self.name(value)
                continue
            while open_ones:
                if not self.add(open_ones[-1], value):
                    break
                value = open_ones.pop()
            else:
                if self.next() not in (b"", b"\0"):
                    raise self.fail()
                return value
            self.name(open_ones[-1])

    def begin(self) -> Value:
        """Parse and return a value; if it is an object or an array, parse only the opening bracket."""
        first = self.next()
        if first in (b"{", b"["):
            self.at += 1
            return Object([]) if first == b"{" else []
        if first == b'"':
            return self.string()
        for word, value in _WORDS.items():
            if self.data.startswith(word, self.at):
                self.at += len(word)
                return value
        match = _NUMBER.match(self.data, self.at)
        if not match:
            raise self.fail()
        self.at = match.end()
        if match["rest"] or (match["integer"] is None and len(match[0]) > 1):
            return float(0)  # no caller needs the value of a number that is not an integer
        value = decimal(match["integer"] or b"0")
        return float(0) if value > INTEGER_MAX else -value if match[0].startswith(b"-") else value

    def closes(self, value: Object | list[Value]) -> bool:
        end = b"}" if isinstance(value, Object) else b"]"
        if self.next() != end:
            return False
        self.at += 1
        return True

    def name(self, inside: Object | list[Value]) -> None:
        """Read the name of an object's next name/value pair; the value is added later."""
        if isinstance(inside, Object):
            if self.next() != b'"':
                raise self.fail()
            inside.pairs.append((self.string(), None))
            if self.next() != b":":
                raise self.fail()
            self.at += 1

    def add(self, inside: Object | list[Value], value: Value) -> bool:
        """Add a value to the unfinished object or array `inside`, and return whether its closing bracket follows."""
        if isinstance(inside, Object):
            inside.pairs[-1] = (inside.pairs[-1][0], value)
        else:
            inside.append(value)
        if self.closes(inside):
            return True
        if self.next() != b",":
            raise self.fail()
        self.at += 1
        return self.closes(inside)

    def string(self) -> str:
        """Parse a string, and return it up to its first zero character, which ends the string in C."""
        match = _STRING.match(self.data, self.at)
        if not match:
            self.at = len(self.data)
            raise self.fail()
        text = match[1]
        if re.search(rb"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})", text):
            raise self.fail()
        self.at = match.end()
        plain = _ESCAPE.sub(_character, text)
        return plain.split(b"\0")[0].decode("utf-8", "replace")


def _character(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        return chr(int(escape[1], 16)).encode("utf-8", "replace")
    return _PLAIN.get(escape[2], escape[2])
