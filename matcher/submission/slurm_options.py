# SPDX-License-Identifier: Apache-2.0
"""Parser of the options of sbatch, srun and salloc, by the rules of getopt_long(3), which these commands use."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reprise.matcher.submission.option_tables import TABLES, OptionTable, Takes
from reprise.matcher.submission.submitted import ARGV_LIMIT, Submission

CLUSTER_LIMIT = 64
"""Maximum number of characters that are read of a cluster of short options, such as `-HQJname`."""
VALUE_CHARACTERS = 128
"""Maximum length of a word that may look like a value; longer words are not values of unknown options."""
_VALUE = re.compile(r"[0-9][0-9.:,x-]*[a-zA-Z%]{0,3}|[^/]*[=,:@][^/]*|on|off|yes|no|true|false|none|auto|all")

Begins = Callable[[Sequence[str]], bool]
"""Function that returns whether the first of some words is the script or program, rather than the value of the unknown
option before it."""


def is_no_value(words: Sequence[str]) -> bool:
    """Return whether the first word does not look like an option's value, or is the last word.

    This test is for command lines in which the beginning of the script or program is unknown: those of srun and salloc,
    and those of sbatch if the plugin has not found the script. Values are numbers with a unit, words such as `on` and
    `none`, and words with `=`, `,`, `:` or `@` but without a slash.
    """
    return len(words) < 2 or len(words[0]) > VALUE_CHARACTERS or _VALUE.fullmatch(words[0]) is None


def is_never(_: Sequence[str]) -> bool:
    """Return False: no script follows the options of a `#SBATCH` line."""
    return False


def is_script(path: str) -> Begins:
    """Return a function that recognizes the batch script, given the path at which the plugin has found it."""
    return lambda words: words[0] == path or path.endswith(f"/{words[0].removeprefix('./')}")


@dataclass
class Parsed:
    """Values of options by the options' reported names, "" for no value; `rest` has the words after the options.

    If an option is repeated, the last value counts.
    """

    values: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)


class _Read(NamedTuple):
    """An option that was read: its reported name or "", its value, and whether the next word is its value.

    `needs_next` is None if the option is unknown.
    """

    name: str
    value: str = ""
    needs_next: bool | None = False


def parse_options(table: OptionTable, words: Sequence[str], begins: Begins = is_no_value) -> Parsed:
    """Parse options up to the first word that is not an option.

    An option of another plugin or of a newer Slurm is unknown, and is skipped. If its value is not attached with `=`,
    the next word is skipped, too, unless it is an option or `begins` says that the script or program begins there.
    """
    parsed = Parsed()
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            position += 1
            break
        if len(word) < 2 or not word.startswith("-"):
            break
        read = _read_long(table, word) if word.startswith("--") else _read_short(table, word, parsed)
        position += 1
        value = read.value
        if read.needs_next:
            value = words[position] if position < len(words) else ""
            position += 1
        elif read.needs_next is None and _is_value(words, position, begins):
            position += 1
        if read.name:
            parsed.values[read.name] = value
    parsed.rest = list(words[position:])
    return parsed


def given_options(submission: Submission) -> Parsed:
    """Return the options on the command line of a submission; nothing for a batch step, which has none.

    If the plugin has found the batch script, the script's path shows where the options end.
    """
    table = TABLES.get(submission.command)
    if not table:
        return Parsed()
    path = submission.script.path if submission.command == "sbatch" and submission.script else ""
    return parse_options(table, submission.argv[1:ARGV_LIMIT], is_script(path) if path else is_no_value)


def _is_value(words: Sequence[str], position: int, begins: Begins) -> bool:
    """Return whether the word at `position` is the value of the unknown option before it."""
    if position >= len(words) or words[position].startswith("-") or words[position] in ("", ":"):
        return False
    return not begins(words[position:])


def _read_long(table: OptionTable, word: str) -> _Read:
    """Read `--name` or `--name=value`."""
    name, equals, value = word[2:].partition("=")
    option = table.find(name)
    if not option:
        return _Read("", needs_next=False if equals else None)
    return _Read(option.name, value, option.takes is Takes.VALUE and not equals)


def _read_short(table: OptionTable, word: str, parsed: Parsed) -> _Read:
    """Parse a group of short options such as `-HQJname`; return the last option, and store the others in `parsed`.

    The rest of the word after an unknown option counts as its value.
    """
    for position, letter in enumerate(word[1:CLUSTER_LIMIT], start=2):
        attached = word[position:]
        if letter not in table.short:
            return _Read("", needs_next=False if attached else None)
        name, takes = table.short[letter]
        if takes is Takes.NOTHING and attached:
            parsed.values[name] = ""
            continue
        return _Read(name, attached, takes is Takes.VALUE and not attached)
    return _Read("")
