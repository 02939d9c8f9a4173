# SPDX-License-Identifier: Apache-2.0
"""Variables that a script itself sets, and their expansion in words; unknown variables stay as written.

If a variable's name suggests a secret, the value is masked when it is assigned. The value is therefore masked wherever
it is used: within a word, in part, or through other variables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reprise.database.secret_masking import MASK
from reprise.database.secret_names import names_secret
from reprise.matcher.submission.parameter_expansion import slice_of, transform
from reprise.matcher.submission.shell_syntax import ASSIGNMENT, Piece, Word, commands
from reprise.matcher.submission.work_limit import Work

# Pattern of a field between blanks; unknown parts such as $(dirname $0) or $(seq 1 $((n))) are not split.
_NESTED = r"\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)"
_FIELD = re.compile(rf"(?:\${_NESTED}|`[^`]*+`|\$\{{[^{{}}]*+\}}|\S)+")
VALUE_LIMIT = 4096
"""Maximum length of a value in characters; longer ones count as unknown, because a script may double a value
repeatedly.
"""
PASSES_LIMIT = 8
"""Maximum number of passes of a loop whose values are kept; scripts that compare releases have two to four."""
_CHARACTERS_PER_STEP = 8
"""Characters per step of the work limit when a value is split; few, since a field and its blank may be two characters.
"""


@dataclass
class Variables:
    """Known values of one shell's variables; `work` limits the reading of the whole script.

    `doubted` are variables that may have another value, because they were set while `in_doubt` was True, or from a
    doubted variable. `in_doubt` is True if the commands being read may not run, or may run repeatedly. `other_values`
    has the values of variables in the second and later passes of a loop, in order.
    """

    values: dict[str, str] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    doubted: set[str] = field(default_factory=set)
    in_doubt: bool = False
    other_values: dict[str, list[str]] = field(default_factory=dict)

    def of_child(self) -> Variables:
        """Return a copy of the variables for a child shell; changes to the copy do not affect this shell."""
        self.work.spend(1 + (len(self.values) + len(self.arrays)) // 4)
        return Variables(
            dict(self.values), self.work, dict(self.arrays), set(self.doubted), False, dict(self.other_values)
        )

    def assign(self, word: Word) -> bool:
        """Apply `NAME=value`, `NAME+=value` or `NAME=(...)`; return False for any other word."""
        first = word[0] if word else None
        if not first or first.quoted or first.variable or "=" not in first.text:  # most words
            return False
        found = ASSIGNMENT.match(first.text)
        if not found:
            return False
        self.work.spend(2)
        name, index, plus = found.groups()
        rest = (Piece(word[0].text[found.end() :]), *word[1:])
        if rest[1:] and not rest[1].quoted and rest[1].text.startswith("("):
            old = self.arrays.get(name, []) if plus else []
            text = rest[1].text[1:-1]
            inside = (one for command in commands(text, self.work) for one in command.words)
            self._assign_array(name, [*old, *self.expand_all(list(inside))])
            return True
        value = (self.values.get(name, "") if plus else "") + "".join(self._value(piece) for piece in rest)
        if self.in_doubt and self.values.get(name) and not plus and value.startswith(("$", "`")):
            self.doubted.add(name)  # in `if [ -n "$1" ]; then N=$1; fi`, keep the earlier value, which is the default
            return True
        others = ["".join(one) for one in self.in_other_passes([rest])] if self.other_values else []
        is_doubted = any(piece.variable in self.doubted for piece in rest) or (plus and name in self.doubted)
        self.unset(name)
        if not index and len(value) <= VALUE_LIMIT:
            self.set(name, value)
            if others and not plus:
                self.set_in_other_passes(name, others)
        if is_doubted:
            self.doubted.add(name)
        return True

    def _assign_array(self, name: str, elements: list[str]) -> None:
        self.unset(name)
        if sum(len(element) + 1 for element in elements) <= VALUE_LIMIT:
            elements = [_without_secret(name, element) for element in elements]
            self.arrays[name] = elements
            self.values[name] = elements[0] if elements else ""  # in bash, $NAME is the first element

    def set(self, name: str, value: str) -> None:
        """Set a variable; its value is truncated to VALUE_LIMIT characters."""
        self.values[name] = _without_secret(name, value[:VALUE_LIMIT])
        self.other_values.pop(name, None)
        if self.in_doubt:
            self.doubted.add(name)
        else:
            self.doubted.discard(name)

    def unset(self, name: str) -> None:
        """Delete a variable's value, which is unknown from then on."""
        self.values.pop(name, None)
        self.arrays.pop(name, None)
        self.other_values.pop(name, None)

    def set_in_other_passes(self, name: str, values: Sequence[str]) -> None:
        """Store the values of a variable in the second and later passes of a loop."""
        if values:
            self.other_values[name] = [_without_secret(name, value[:VALUE_LIMIT]) for value in values]

    def in_other_passes(self, words: Sequence[Word]) -> list[list[str]]:
        """Return the fields of words in the second and later passes of a loop, one list for each pass.

        Only the first loop variable in the words changes; the result is empty if they have none.
        """
        used = (piece.variable for word in words for piece in word if piece.variable)
        name = next((one for one in used if one in self.other_values), None)
        if name is None:
            return []
        first, found = self.values.get(name), []
        for value in self.other_values[name]:
            self.values[name] = value
            self.work.spend(2 + len(words))
            found.append(self.expand_all(words))
        self.values.pop(name)
        if first is not None:
            self.values[name] = first
        return found

    def expand(self, word: Word) -> list[str]:
        """Return the word's fields; unquoted variables are split at blanks, and unknown variables stay as written."""
        if len(word) == 1 and not word[0].variable:  # most words
            return [word[0].text] if word[0].text or word[0].quoted else []
        fields = [""]
        quoted = False
        for piece in word:
            if not piece.variable:
                fields[-1] += piece.text
                quoted = quoted or piece.quoted
                continue
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
        """Return the fields of all words, in one list."""
        return [field for word in words for field in self.expand(word)]

    def _elements(self, piece: Piece) -> list[str] | None:
        """Return the elements of `$@`, `${NAME[@]}` or `${@:2}`; None if the piece is not a known array."""
        if not piece.variable.endswith(("@", "*", "]")):
            return None
        elements = self.arrays.get(piece.variable.removesuffix("[@]").removesuffix("[*]"))
        if elements is None:
            return None
        if piece.operator:
            part = slice_of("".join(one.text for one in piece.operand)) if piece.operator == ":" else None
            if part is None:
                return None
            elements = [piece.text, *elements][part] if piece.variable in "@*" else elements[part]
        self.work.spend(1 + sum(len(element) + 1 for element in elements) // _CHARACTERS_PER_STEP)
        if piece.quoted and piece.variable.endswith(("*", "[*]")):
            return [" ".join(elements)]
        return elements if piece.quoted else [field for element in elements for field in _FIELD.findall(element)]

    def _value(self, piece: Piece) -> str:
        if not piece.variable:
            return piece.text
        elements = self._elements(piece)
        if elements is not None:
            return " ".join(elements)
        value = self._transformed(piece)
        value = piece.text if value is None else value
        self.work.spend(1 + len(value) // _CHARACTERS_PER_STEP)
        return value

    def _transformed(self, piece: Piece) -> str | None:
        """Return the variable's value after its operator is applied; None if the value or the result is unknown."""
        value = self.values.get(piece.variable)
        if value is None and piece.variable.endswith("]"):
            value = self._element(piece.variable)
        if not piece.operator:
            return value
        given = value is not None and (value != "" or not piece.operator.startswith(":"))
        match piece.operator.lstrip(":"):
            case "-" | "=" if given:
                return value
            case "-":
                return _without_secret(piece.variable, self._operand(piece))
            case "=":
                self.set(piece.variable, self._operand(piece))
                return self.values[piece.variable]
            case "+":
                return self._operand(piece) if given else value
            case "?":
                return value
        return None if value is None else transform(value, piece.operator, self._operand(piece))

    def _operand(self, piece: Piece) -> str:
        return "".join(self._value(one) for one in piece.operand)

    def _element(self, variable: str) -> str | None:
        """Return the element `A[2]` or `A[I]` of an array; None if it is unknown.

        If the index is the task id of a job array, which is unknown, return the first element.
        """
        name, _, index = variable[:-1].partition("[")
        elements = self.arrays.get(name)
        index = self.values.get(index.lstrip("$"), index)
        if elements and "SLURM_ARRAY_TASK_ID" in index and "SLURM_ARRAY_TASK_ID" not in self.values:
            return elements[0]
        if elements is None or not re.fullmatch(r"[0-9]{1,6}", index) or int(index) >= len(elements):
            return None
        return elements[int(index)]


def _without_secret(name: str, value: str) -> str:
    """Return the value, or the mask if the variable's name suggests a secret."""
    return MASK if names_secret(name, value) else value
