# SPDX-License-Identifier: Apache-2.0
"""Evaluation of conditions, to find the `if` branches that a script takes, as far as its own variables decide this.

For example, the branch in `MODE=train; if [ "$MODE" = test ]; then ...` is not taken. A condition stays undecided if it
depends on files, on the output of commands, on variables that the script does not set, or on variables that were set in
a loop or in another branch. If a condition is undecided, all its branches count as taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reprise.matcher.submission.shell_syntax import Word
from reprise.matcher.submission.shell_variables import Variables

_WILD = frozenset("*?[(")
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
}
LEVELS_LIMIT = 32
"""Maximum number of nested branches that are tracked; commands in deeper branches may or may not run."""
CONDITIONS_LIMIT = 8
"""Maximum number of a condition's parts (between `&&` and `||`) that are read; further parts count as unknown."""
_OPENING = frozenset({"for", "while", "until", "select", "case"})
_CLOSING = frozenset({"done", "esac"})
BRANCH_WORDS = _OPENING | _CLOSING | {"if", "then", "elif", "else", "fi", "!"}
"""Keywords that begin or end a branch, or negate a condition."""


@dataclass
class _Level:
    """State of an `if`, loop or `case` that has begun but not ended.

    `decided` is whether one of the branches so far is taken, and `current` whether the current branch is taken; None
    means unknown.
    """

    is_if: bool
    decided: bool | None = False
    current: bool | None = None
    in_condition: bool = True
    condition: bool | None = None
    conditions: int = 0
    negated: bool = False


@dataclass
class Branches:
    """The nested branches around the current command of a script or function."""

    levels: list[_Level] = field(default_factory=list)
    deeper: int = 0

    @property
    def skipped(self) -> bool:
        """Return whether commands in the current branch certainly do not run."""
        return any(level.current is False for level in self.levels)

    @property
    def in_doubt(self) -> bool:
        """Return whether commands in the current branch may not run, or may run repeatedly."""
        return bool(self.levels) and (self.deeper > 0 or any(level.current is None for level in self.levels))

    def word(self, word: str) -> None:
        """Process one of BRANCH_WORDS at the beginning of a command."""
        level = self.levels[-1] if self.levels else None
        if word == "if" or word in _OPENING:
            if len(self.levels) == LEVELS_LIMIT:
                self.deeper += 1
            else:
                self.levels.append(_Level(word == "if", in_condition=word == "if"))
        elif level is None or self.deeper:
            self.deeper -= self.deeper and (word == "fi" or word in _CLOSING)
        elif word in _CLOSING or word == "fi":
            if level.is_if is (word == "fi"):
                self.levels.pop()
        elif level.is_if:
            _in_if(level, word)

    def reads_condition(self) -> bool:
        """Return whether the next command is the condition of an `if`."""
        return not self.deeper and bool(self.levels) and self.levels[-1].is_if and self.levels[-1].in_condition

    def condition(self, words: Sequence[Word], joined_by: str, variables: Variables) -> None:
        """Process a condition's command; `joined_by` is `&` if the command follows `&&`, and `|` if it follows `||`.

        A condition whose parts are joined in another way stays undecided.
        """
        level = self.levels[-1]
        level.conditions += 1
        is_read = level.conditions == 1 or (joined_by and level.conditions <= CONDITIONS_LIMIT)
        result = _decided(words, variables) if is_read and not self.skipped else None
        result = None if result is None else result is not level.negated
        level.negated = False
        level.condition = result if level.conditions == 1 else _joined(level.condition, joined_by, result)


def _in_if(level: _Level, word: str) -> None:
    if word == "!":
        level.negated = True
    elif word == "elif":
        level.in_condition, level.conditions, level.condition, level.negated = True, 0, None, False
        level.current = False if level.decided else None
    elif word == "then":
        level.in_condition = False
        level.current = False if level.decided else level.condition
        level.decided = True if level.decided else (level.condition if level.decided is False else None)
    elif word == "else":
        level.current = None if level.decided is None else not level.decided


def _joined(before: bool | None, joined_by: str, result: bool | None) -> bool | None:
    """Return `before && result` if `joined_by` is `&`, or `before || result` if it is `|`; None if unknown."""
    if not joined_by:
        return None
    deciding = joined_by == "|"
    if deciding in (before, result):
        return deciding
    return None if before is None or result is None else not deciding


def _decided(words: Sequence[Word], variables: Variables) -> bool | None:
    """Return whether `[ ... ]`, `[[ ... ]]`, `test ...`, `true` or `false` is true; None if unknown."""
    fields = []
    for word in words:
        if any(_is_doubted(piece.variable, variables) for piece in word if piece.variable):
            return None
        expanded = variables.expand(word)
        if len(expanded) != 1 or "$" in expanded[0] or "`" in expanded[0]:
            return None
        fields += expanded
    match fields:
        case ["true"] | ["false"]:
            return fields[0] == "true"
        case ["[", *inside, "]"] | ["[[", *inside, "]]"] | ["test", *inside]:
            is_negated = inside[:1] == ["!"]
            result = _tested(inside[is_negated:], is_pattern=fields[0] == "[[")
            return None if result is None else result is not is_negated
    return None


def _is_doubted(variable: str, variables: Variables) -> bool:
    """Return whether the value of a variable is too uncertain to decide a condition.

    This includes `$#` if its value is 0, because a script that tests `$#` expects arguments, and the matcher may not
    know them.
    """
    return variable in variables.doubted or (variable == "#" and variables.values.get("#") == "0")


def _tested(inside: Sequence[str], *, is_pattern: bool) -> bool | None:
    match inside:
        case ["-z", text]:
            return not text
        case ["-n", text]:
            return bool(text)
        case [left, "=" | "==" | "!=" as sign, right]:
            if is_pattern and _WILD.intersection(right):
                return None
            return (left == right) is (sign != "!=")
        case [*before, "-a", left, sign, right] if len(before) == 3:
            return _joined(_tested(before, is_pattern=False), "&", _tested([left, sign, right], is_pattern=False))
        case [left, sign, right] if sign in _NUMBERS:
            if left.isdecimal() and right.isdecimal() and len(left) + len(right) < 40:
                return _NUMBERS[sign](int(left), int(right))
            return True if left == right and sign == "-eq" else None
    return None
