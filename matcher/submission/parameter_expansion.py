# SPDX-License-Identifier: Apache-2.0
"""Expansion of parameters with operators, as in `${NAME%.sh}`; the functions return None for unsupported expansions."""

from __future__ import annotations

import re

_SUBSTRING = re.compile(r"\s*([0-9]{1,6})\s*(?::\s*([0-9]{1,6})\s*)?\Z")
_WILD = frozenset("*?[\\")


def transform(value: str, operator: str, operand: str) -> str | None:
    """Return a value after applying an operator (`%`, `##`, `/`, `^^`, `:`, ...); None for unsupported expansions."""
    match operator:
        case "%" | "%%" | "#" | "##":
            return _trim(value, operator, operand)
        case "/" | "//":
            return _replace(value, operand, every=operator == "//")
        case "^^" | ",," | "^" | "," if not operand:
            return _case(value, operator)
        case ":" if found := slice_of(operand):
            return value[found]
    return None


def slice_of(operand: str) -> slice | None:
    """Return the slice for `OFFSET` or `OFFSET:LENGTH`; None unless the numbers are non-negative integers."""
    found = _SUBSTRING.match(operand)
    if not found:
        return None
    start = int(found.group(1))
    return slice(start, start + int(found.group(2)) if found.group(2) else None)


def _case(value: str, operator: str) -> str:
    changed = str.upper if "^" in operator else str.lower
    return changed(value) if len(operator) == 2 else changed(value[:1]) + value[1:]


def _trim(value: str, operator: str, pattern: str) -> str | None:
    """Return a value without the prefix or suffix that matches a pattern; None if the pattern is too complex.

    A pattern may contain one `*` and no other special character, because other patterns may take too long to match.
    """
    before, star, after = pattern.partition("*")
    if _WILD.intersection(before + after):
        return None
    if not star:
        return value.removeprefix(pattern) if operator[0] == "#" else value.removesuffix(pattern)
    if operator[0] == "#":
        inside = value[len(before) :]
        at = inside.find(after) if operator == "#" else inside.rfind(after)
        return inside[at + len(after) :] if value.startswith(before) and at >= 0 else value
    inside = value[: len(value) - len(after)]
    at = inside.rfind(before) if operator == "%" else inside.find(before)
    return inside[:at] if value.endswith(after) and len(value) >= len(after) and at >= 0 else value


def _replace(value: str, operand: str, *, every: bool) -> str | None:
    pattern, _, new = operand.partition("/")
    if not pattern or pattern[0] in "#%" or _WILD.intersection(pattern):
        return None
    if every and len(value.split(pattern)) * len(new) > 65_536:
        return None
    return value.replace(pattern, new) if every else value.replace(pattern, new, 1)
