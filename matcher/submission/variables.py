# SPDX-License-Identifier: Apache-2.0
"""The variables that a script itself sets, and words with them filled in. What is not known stays as written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from matcher.submission.shell import Piece, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=")
VALUE_LIMIT = 4096
"""Characters of a variable's value; a longer one counts as unknown, so that doubling variables stay harmless."""
EXPANSION_LIMIT = 1_048_576
"""Characters that all expansions of a script may come to; beyond, variables stay as written."""


class Variables:
    """`positional` are the script's arguments; None where they are not known."""

    def __init__(self, known: Mapping[str, str], positional: Sequence[str] | None = None) -> None:
        self._values = dict(known)
        self._left = EXPANSION_LIMIT
        if positional is not None:
            self._values |= {str(number): value for number, value in enumerate(positional, start=1)}
            self._values |= {"@": " ".join(positional), "*": " ".join(positional), "#": str(len(positional))}

    def assign(self, word: Word) -> bool:
        """Take `NAME=value`, `NAME+=value` or `NAME=(...)`; False where the word is none of them."""
        found = _ASSIGNMENT.match(word[0].text) if word and not word[0].quoted and not word[0].variable else None
        if not found:
            return False
        name, index, plus = found.groups()
        rest = (Piece(word[0].text[found.end() :]), *word[1:])
        value = (self._values.get(name, "") if plus else "") + "".join(self._value(piece) for piece in rest)
        is_array = index or (rest[1:] and not rest[1].quoted and rest[1].text.startswith("("))
        if is_array or len(value) > VALUE_LIMIT:
            self._values.pop(name, None)
        else:
            self._values[name] = value
        return True

    def set(self, name: str, value: str) -> None:
        self._values[name] = value[:VALUE_LIMIT]

    def unset(self, name: str) -> None:
        self._values.pop(name, None)

    def expand(self, word: Word) -> list[str]:
        """The word's fields: unquoted variables are split at blanks, an unset one as written is one field."""
        fields = [""]
        quoted = False
        for piece in word:
            quoted = quoted or piece.quoted
            value = self._value(piece)
            if piece.variable and not (piece.quoted and piece.variable != "@") and value != piece.text:
                parts = value.split()
                fields[-1] += parts[0] if parts else ""
                fields += parts[1:]
            else:
                fields[-1] += value
        return fields if len(fields) > 1 or fields[0] or quoted else []

    def expand_all(self, words: Sequence[Word]) -> list[str]:
        return [field for word in words for field in self.expand(word)]

    def _value(self, piece: Piece) -> str:
        if not piece.variable:
            return piece.text
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
