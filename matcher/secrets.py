# SPDX-License-Identifier: Apache-2.0
"""Secrets on command lines: found by the name of their option, or as a password in a URL, and masked."""

from __future__ import annotations

import dataclasses
import re
from functools import lru_cache
from typing import Any

from matcher.metadata import JobMetadata

MASK = "***"

# Whole words of an option's name (`--api-key`, `DB_PASSWORD`, `authToken`); `monkey` and `passes` are not among them.
_SECRET_WORDS = re.compile(
    "pass|passwd|password|passphrase|passcode|pwd|secrets?|tokens?|key|apikey|auth|authorization|bearer|cred(ential)?s?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_URL_PASSWORD = re.compile(r"(?P<head>\b[A-Za-z][A-Za-z0-9+.-]{0,31}://[^\s/:@]*:)[^\s/@]+(?=@)")
_ASSIGNMENT = re.compile(r"(?P<head>(?P<name>[A-Za-z_][\w.-]*)=)(?P<value>.+)", re.DOTALL)


@lru_cache(maxsize=4096)  # sites use the same few options again and again
def names_secret(name: str) -> bool:
    """Whether an option or variable of this name is likely to hold a secret."""
    return any(_SECRET_WORDS.fullmatch(word) for word in _WORD.findall(name))


def _may_hold_secret(text: str) -> bool:
    """False for most texts, and quick."""
    return "=" in text or "://" in text


def masked_text(text: str) -> str:
    """`text` without passwords in URLs and without the value of a `secret-name=value` assignment."""
    if not _may_hold_secret(text):
        return text
    assignment = _ASSIGNMENT.fullmatch(text)
    if assignment and names_secret(assignment["name"]):
        return assignment["head"] + MASK
    return _URL_PASSWORD.sub(rf"\g<head>{MASK}", text)


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
