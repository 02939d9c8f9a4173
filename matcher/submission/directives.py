# SPDX-License-Identifier: Apache-2.0
"""Reader of the `#SBATCH` lines of a batch script, by sbatch's rules (checked against sbatch 22.05 on a cluster)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import lru_cache

from reprise.matcher.submission.option_tables import SBATCH
from reprise.matcher.submission.slurm_options import is_never, parse_options
from reprise.matcher.submission.work_limit import OutOfWorkError, Work

PREFIX = "#SBATCH"
HEAD_LIMIT = 32_768
"""Maximum number of characters at the beginning of a script that are searched for directives."""
_DIRECTIVE_STEPS = 8
"""Steps of the work limit that a directive costs, in addition to one step per word."""
_SHORT = 128
"""Maximum length in characters of a directive that is cached; so short a line is parsed without the work limit."""
_HEAD = re.compile(r"(?:[ \t\r\f\v]*+(?:#[^\n]*+)?(?:\n++|\Z))*")  # the text before the first command
_DIRECTIVE = re.compile(rf"^{PREFIX}([^\n]*)", re.MULTILINE)
_NEXT_COMPONENT = {"hetjob", "packjob"}
_PIECE = re.compile(
    r"""
    "(?P<double> (?: [^"\\]++ | \\. )* )"
    | '(?P<single> (?: [^'\\]++ | \\. )* )'
    | (?P<bare> \\\S | [^\s"'\\#]++ )
    | (?P<blank> (?: \s++ | \\(?=\s|\Z) )+ )
    | (?P<comment> \# )
    """,
    re.VERBOSE,
)
_NO_PLAIN_WORD = re.compile(r"""["'\\#]""")
_ESCAPED = re.compile(r"\\(.)")


def read_directives(text: str, work: Work) -> dict[str, str]:
    """Return the options by name from the `#SBATCH` lines before the script's first command.

    For a heterogeneous job, only the options of the first component are returned.
    """
    values: dict[str, str] = {}
    head = _HEAD.match(text, 0, HEAD_LIMIT)
    with contextlib.suppress(OutOfWorkError):
        for line in _DIRECTIVE.finditer(text, 0, head.end() if head else 0):
            text = line.group(1)
            words, options = _read(text, work) if len(text) > _SHORT else _read_short(text)
            if words and words[0] in _NEXT_COMPONENT:
                break
            work.spend(_DIRECTIVE_STEPS + len(words), len(line.group()))
            values |= options
    return values


def _read(line: str, work: Work) -> tuple[list[str], dict[str, str]]:
    """Return the words of a directive, and its options."""
    words = list(split_directive(line, work))
    return words, parse_options(SBATCH, words, is_never).values


@lru_cache(maxsize=4096)  # most short lines occur in many of a site's scripts
def _read_short(line: str) -> tuple[list[str], dict[str, str]]:
    return _read(line, Work())


def split_directive(line: str, work: Work) -> Iterator[str]:
    """Yield the words of a directive.

    The rules differ from a shell's. Within quotes of either kind, a backslash makes the next character literal. Outside
    quotes, a backslash before a blank does not join two words. An unquoted `#` begins a comment anywhere, even within a
    word.
    """
    if not _NO_PLAIN_WORD.search(line):  # true for most lines
        words = line.split()
        work.spend(6 * len(words), len(line))
        yield from words
        return
    word: list[str] = []
    for piece in _PIECE.finditer(line):
        work.spend(3, piece.end() - piece.start())
        if piece["comment"]:
            break
        if not piece["blank"]:
            written = next(text for text in piece.group("double", "single", "bare") if text is not None)
            word.append(_ESCAPED.sub(r"\1", written))
        elif word:
            yield "".join(word)
            word = []
    if word:
        yield "".join(word)
