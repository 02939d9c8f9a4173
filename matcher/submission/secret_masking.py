# SPDX-License-Identifier: Apache-2.0
"""Secrets on command lines: found by the name of their option, or as who asks in an address, and masked.

Where it is not certain how far a secret goes, more is masked. All of it takes time in proportion to the text.
"""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_left
from functools import lru_cache
from typing import Any

from reprise.matcher.submission.metadata import JobMetadata

MASK = "***"
NAME_LIMIT = 256  # characters of a name's end that are looked at: names are remembered

# Whole words of an option's name (`--api-key`, `DB_PASSWORD`, `authToken`); `monkey` and `passes` are not among them.
_SECRET_WORDS = re.compile(
    "pass|passwd|password|passphrase|passcode|pwd|secrets?|tokens?|key|apikey|auth|authorization|bearer|cred(ential)?s?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# `@sha256:...` behind an address is which image of a container, not where it comes from.
_AT = re.compile(r"@(?!sha\d+:)")
_AUTHORITY_ENDS = re.compile(r"[/?#]")
_PORT = re.compile(r"\d*")
_BLANKS = re.compile(r"(\s+)")

# `name=value`, or as headers and files have it: `name: value`, `"name": "value"`. A name is no part of a path, of a
# variable's use (`$PWD:/data`) or of what follows an @; what follows a colon is no address' `//`.
_ASSIGNMENT = re.compile(
    r"""(?<![\w$/.@-])(?<!\$\{)-{0,2}(?P<name>[A-Za-z_][\w.-]*+)["']?\s*+(?P<sign>[=:])(?!//|:)\s*+(?=\S)"""
)
_NEXT = re.compile(r"""[,;&\s]-{0,2}["']?[A-Za-z_][\w.-]*+["']?=""")


@lru_cache(maxsize=4096)  # sites use the same few options again and again
def names_secret(name: str) -> bool:
    """Whether an option or variable of this name is likely to hold a secret."""
    return any(_SECRET_WORDS.fullmatch(word) for word in _WORD.findall(name))


def _may_hold_secret(text: str) -> bool:
    """False for most texts, and quick."""
    return "=" in text or ":" in text


def masked_text(text: str) -> str:
    """`text` without who asks in addresses (`scheme://user:password@host`), and without the value of each
    `secret-name=value` or `secret-name: value`."""
    if not _may_hold_secret(text):
        return text
    return _without_values(_without_userinfo(text) if "://" in text and "@" in text else text)


def _without_userinfo(text: str) -> str:
    return "".join(_word_without_userinfo(word) if "://" in word else word for word in _BLANKS.split(text))


def _word_without_userinfo(word: str) -> str:
    """A word without what is before the last @ of each address' authority (RFC 3986, 3.2), if it is not masked already.

    Passwords are written as they are, too: what stands behind `user:` and is no port goes up to the last @ of all.
    """
    ats = [found.start() for found in _AT.finditer(word)]
    parts, done, begin = [], 0, 0
    while ats and (found := word.find("://", begin, ats[-1])) >= 0:
        begin = found + len("://")
        ends = _AUTHORITY_ENDS.search(word, begin)
        end = ends.start() if ends else len(word)
        user, colon, password = word[begin:end].partition(":")
        if colon and not _PORT.fullmatch(password) and "@" not in user and not user.startswith("["):
            end = len(word)
        last = bisect_left(ats, end) - 1
        if last >= 0 and ats[last] >= begin:
            parts += [word[done:begin], MASK]
            begin = done = ats[last]
    return "".join(parts) + word[done:]


def _without_values(text: str) -> str:
    """Up to the next assignment, or all the rest: of what an assignment begins, as any value may be in it, and of what
    follows a colon, as headers have assignments in their values."""
    parts, done = [], 0
    while found := _ASSIGNMENT.search(text, done):
        value, end = found.end(), found.end()
        if names_secret(found["name"][-NAME_LIMIT:]):
            all_of_it = found.start() == 0 or found["sign"] == ":" or text[value] in "\"'"
            following = None if all_of_it else _NEXT.search(text, value)
            end = following.start() if following else len(text)
            parts += [text[done:value], MASK]
        else:
            parts.append(text[done:value])
        done = end
    return "".join(parts) + text[done:]


_NAMES = ("path", "program", "job_name", "directory", "script_path")


def _job_may_hold_secret(metadata: JobMetadata) -> bool:
    """False for most jobs, and faster than to mask what there is."""
    texts = [metadata.path, metadata.program, metadata.job_name, metadata.directory, metadata.script_path]
    for values in metadata.options.values():
        texts += values
    return _may_hold_secret("\n".join(texts)) or any(map(names_secret, metadata.options))


def masked(metadata: JobMetadata) -> JobMetadata:
    """The same job with every secret replaced by `***`: what may be stored, logged and shown."""
    if not _job_may_hold_secret(metadata):
        return metadata
    options = {
        key: tuple(MASK if names_secret(key) and value else masked_text(value) for value in values)
        for key, values in metadata.options.items()
    }
    given = {name: getattr(metadata, name) for name in _NAMES}
    named: dict[str, Any] = {name: masked_text(text) for name, text in given.items()}
    if options == metadata.options and named == given:
        return metadata
    return dataclasses.replace(metadata, options=options, **named)
