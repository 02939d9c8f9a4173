# SPDX-License-Identifier: Apache-2.0
"""Reader of the options on a program's command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"-\.?[0-9]")


def read_options(arguments: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return a program's options, without dashes, with their values; the key "" has the positional arguments.

    `--key=value`, `-k value` and `--key value` are options with a value; `--flag` is an option without a value. Only
    the program knows which of its options are flags. Therefore a word that follows an option counts as its value if the
    word does not begin with a dash or is a negative number.
    """
    options: dict[str, list[str]] = {}
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if word == "--":
            options.setdefault("", []).extend(arguments[position:])
            break
        key = word.lstrip("-")
        if not word.startswith("-") or not key or _NUMBER.match(word):
            options.setdefault("", []).append(word)
            continue
        key, equals, value = key.partition("=")
        values = options.setdefault(key, [])
        if equals:
            values.append(value)
        elif position < len(arguments) and _is_value(arguments[position]):
            values.append(arguments[position])
            position += 1
    return {key: tuple(values) for key, values in options.items()}


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _NUMBER.match(word) is not None
