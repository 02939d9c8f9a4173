# SPDX-License-Identifier: Apache-2.0
"""Options on a program's command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"-\.?[0-9]")


def read_options(arguments: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return a program's options: key, dashes stripped, to its values; positional arguments under "".

    `--key=value`, `-k value` and `--key value` give a value, `--flag` none. A word that follows an option and does not
    begin with a dash (or is a negative number) is taken for its value: only the program knows which options are flags.
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
