# SPDX-License-Identifier: Apache-2.0
"""The variables that a script itself sets, and words with them filled in. What is not known stays as written."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence

from matcher.submission.model import ARGUMENT_LIMIT
from matcher.submission.shell import Piece, Word, commands

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=")
# Fields between blanks; what is not known, such as $(dirname $0), is not torn apart.
_FIELD = re.compile(r"(?:\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\S)+")
VALUE_LIMIT = 4096
"""Characters of a variable's value; a longer one counts as unknown, so that doubling variables stay harmless."""
EXPANSION_LIMIT = 1_048_576
"""Characters that a script's commands and all expansions may come to; beyond, variables stay as written."""
WORD_COST = 8
"""What a word counts beside its characters."""


class Variables:
    """`positional` are the script's arguments; None where they are not known."""

    def __init__(self, known: Mapping[str, str], positional: Sequence[str] | None = None) -> None:
        self._values = dict(known)
        self._arrays: dict[str, list[str]] = {}
        self._left = EXPANSION_LIMIT
        if positional is not None:
            self._give_arguments(positional)

    @contextlib.contextmanager
    def called_with(self, arguments: Sequence[str]) -> Iterator[None]:
        """A function's own arguments, for as long as its body is read."""
        outer = self._take_arguments()
        self._give_arguments(arguments)
        yield
        self._take_arguments()
        if outer is not None:
            self._give_arguments(outer)

    def shift(self, count: int) -> None:
        """What `shift` does; nothing where the arguments are not known."""
        arguments = self._take_arguments()
        if arguments is not None:
            self._give_arguments(arguments[count:])

    def _give_arguments(self, arguments: Sequence[str]) -> None:
        arguments = arguments[:ARGUMENT_LIMIT]
        self._values |= {str(number): value for number, value in enumerate(arguments, start=1)}
        self._values["#"] = str(len(arguments))
        self._arrays["@"] = self._arrays["*"] = list(arguments)

    def _take_arguments(self) -> list[str] | None:
        arguments = self._arrays.pop("@", None)
        self._arrays.pop("*", None)
        for number in range(1, len(arguments or ()) + 1):
            self._values.pop(str(number), None)
        self._values.pop("#", None)
        return arguments

    def spend(self, words: Sequence[Word]) -> bool:
        """Whether a command of these words may still be read. What is read again and again, as functions are, has an
        end."""
        self._left -= sum(WORD_COST + sum(len(piece.text) for piece in word) for word in words)
        return self._left > 0

    def assign(self, word: Word) -> bool:
        """Take `NAME=value`, `NAME+=value` or `NAME=(...)`; False where the word is none of them."""
        found = _ASSIGNMENT.match(word[0].text) if word and not word[0].quoted and not word[0].variable else None
        if not found:
            return False
        name, index, plus = found.groups()
        rest = (Piece(word[0].text[found.end() :]), *word[1:])
        if rest[1:] and not rest[1].quoted and rest[1].text.startswith("("):
            old = self._arrays.get(name, []) if plus else []
            inside = (one for command in commands(rest[1].text[1:-1]) for one in command.words)
            self._assign_array(name, [*old, *self.expand_all(list(inside))])
            return True
        value = (self._values.get(name, "") if plus else "") + "".join(self._value(piece) for piece in rest)
        self.unset(name)
        if not index and len(value) <= VALUE_LIMIT:
            self._values[name] = value
        return True

    def _assign_array(self, name: str, elements: list[str]) -> None:
        self.unset(name)
        if sum(len(element) + 1 for element in elements) <= VALUE_LIMIT:
            self._arrays[name] = elements
            self._values[name] = elements[0] if elements else ""  # what $NAME is

    def set(self, name: str, value: str) -> None:
        self._values[name] = value[:VALUE_LIMIT]

    def unset(self, name: str) -> None:
        self._values.pop(name, None)
        self._arrays.pop(name, None)

    def expand(self, word: Word) -> list[str]:
        """The word's fields: unquoted variables are split at blanks, an unset one as written is one field."""
        fields = [""]
        quoted = False
        for piece in word:
            elements = self._elements(piece)
            quoted = quoted or (piece.quoted and elements is None)
            if elements is not None:
                parts = elements
            else:
                value = self._value(piece)
                split = piece.variable and not piece.quoted and value != piece.text
                parts = _FIELD.findall(value) if split else [value]
            fields[-1] += parts[0] if parts else ""
            fields += parts[1:]
        return fields if len(fields) > 1 or fields[0] or quoted else []

    def expand_all(self, words: Sequence[Word]) -> list[str]:
        return [field for word in words for field in self.expand(word)]

    def _elements(self, piece: Piece) -> list[str] | None:
        """What `$@` or `${NAME[@]}` stands for, None where the piece is no array that is known."""
        elements = self._arrays.get(piece.variable.removesuffix("[@]").removesuffix("[*]"))
        if elements is None or not piece.variable.endswith(("@", "*", "]")):
            return None
        length = sum(len(element) + 1 for element in elements)
        if length > self._left:
            return None
        self._left -= length
        if piece.quoted and piece.variable.endswith(("*", "[*]")):
            return [" ".join(elements)]
        return elements if piece.quoted else [field for element in elements for field in _FIELD.findall(element)]

    def _value(self, piece: Piece) -> str:
        if not piece.variable:
            return piece.text
        elements = self._elements(piece)
        if elements is not None:
            return " ".join(elements)
        value = self._values.get(piece.variable) or piece.default
        if value is None:
            value = self._values.get(piece.variable, piece.text)
        if len(value) > self._left:
            return piece.text
        self._left -= len(value)
        return value


def is_assignment(text: str) -> bool:
    """Whether an expanded word is `NAME=value`, as `env` takes it."""
    return _ASSIGNMENT.match(text) is not None
