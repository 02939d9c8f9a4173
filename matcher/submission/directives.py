# SPDX-License-Identifier: Apache-2.0
"""The `#SBATCH` lines of a batch script, as sbatch reads them (checked against sbatch 22.05 on a cluster)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from matcher.submission.options import SBATCH, parse_options

PREFIX = "#SBATCH"
_NEXT_COMPONENT = {"hetjob", "packjob"}
_PIECE = re.compile(
    r"""
    "(?P<double> (?: \\. | [^"\\] )* )"
    | '(?P<single> (?: \\. | [^'\\] )* )'
    | (?P<bare> \\\S | [^\s"'\\#]+ )
    | (?P<blank> (?: \s | \\(?=\s|\Z) )+ )
    | (?P<comment> \# )
    """,
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


def read_directives(text: str) -> dict[str, str]:
    """Options by name, from the lines before the first command; of a heterogeneous job, the first component's."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        if line.startswith(PREFIX):
            words = list(split_directive(line[len(PREFIX) :]))
            if words and words[0] in _NEXT_COMPONENT:
                break
            values |= parse_options(SBATCH, words).values
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return values


def split_directive(line: str) -> Iterator[str]:
    """The words of a directive.

    Not a shell's rules: a backslash takes the next character as it is within quotes of either kind, but outside them
    does not join words over a blank; an unquoted `#` begins a comment wherever it stands.
    """
    word: str | None = None
    for piece in _PIECE.finditer(line):
        if piece["comment"]:
            break
        if piece["blank"]:
            if word is not None:
                yield word
            word = None
        else:
            written = next(text for text in piece.group("double", "single", "bare") if text is not None)
            word = (word or "") + _ESCAPED.sub(r"\1", written)
    if word is not None:
        yield word
