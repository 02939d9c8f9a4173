# SPDX-License-Identifier: Apache-2.0
"""A job's metadata as stored, in JSON of limited size. Long texts are cut, and the bytes left out are counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from reprise.matcher.submission.metadata import JobMetadata

STORED_LIMIT = 16_384
"""Bytes of JSON. Real scripts stay under 4 KiB; a program may have 256 arguments of 1,024 characters."""
VALUE_LIMIT = 768
"""Bytes of JSON for one text in metadata that exceed the limit, and for one compared value shown in a decision."""
MODULES_LIMIT = 1_536
"""Bytes of JSON for the modules in metadata that exceed the limit."""
PROGRAMS_LIMIT = 512
"""Bytes of JSON for the names of all programs in metadata that exceed the limit."""
OPTIONS_LIMIT = 5_120
"""Bytes of JSON for the options in metadata that exceed the limit.

With all three, the texts (eleven, and five sketches) and the keys still fit into STORED_LIMIT.
"""
OMITTED = "omitted_bytes"
"""Key in stored metadata with the number of bytes of JSON that were left out."""
MARK = "..."
_ENCODER = msgspec.json.Encoder()
ESCAPED = 12  # largest number of bytes in JSON for a character: `\\ud83d\\ude00`


def stored(job: JobMetadata) -> dict[str, Any]:
    """Return the job as JSON of at most STORED_LIMIT bytes.

    Its secrets must be masked before, since a secret that is cut can no longer be recognised.
    """
    data = job.to_json()
    texts = sum(len(value) for value in data.values() if isinstance(value, str))
    texts += sum(map(len, (*job.modules, *job.programs)))
    words = sum(len(key) + sum(map(len, values)) + 8 * len(values) for key, values in job.options.items())
    if ESCAPED * (texts + words) + 8 * (len(job.modules) + len(job.programs)) + 512 <= STORED_LIMIT:  # as nearly always
        return data
    whole = _bytes(data)
    if whole <= STORED_LIMIT:
        return data
    shorter = {key: _cut(value) if isinstance(value, str) else value for key, value in data.items()}
    shorter["modules"] = list(_first(data["modules"], MODULES_LIMIT))
    shorter["programs"] = list(_first(data["programs"], PROGRAMS_LIMIT))
    shorter["options"] = first_options(data["options"], OPTIONS_LIMIT)
    return {**shorter, OMITTED: whole - _bytes(shorter)}


def shown(value: Any) -> Any:
    """Return a compared value as JSON of about VALUE_LIMIT bytes; a mark shows where it is cut."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, Mapping):
        if _bytes(value) <= VALUE_LIMIT:
            return {key: list(values) for key, values in value.items()}
        short = first_options(value, VALUE_LIMIT)
        return short if len(short) == len(value) else {**short, MARK: []}
    return value


def first_options(options: Mapping[str, Sequence[str]], limit: int) -> dict[str, list[str]]:
    """Return the first options, with as many values as fit into `limit` bytes of JSON. Long values are cut."""
    kept: dict[str, list[str]] = {}
    room = limit
    for key, values in options.items():
        room -= _bytes(_cut(key)) + 5
        if room < 0:
            break
        some = kept[_cut(key)] = list(_first(values, room))
        room -= sum(_bytes(value) + 2 for value in some)
        if len(some) < len(values):
            break
    return kept


def _first(texts: Iterable[str], room: int) -> Iterable[str]:
    for text in map(_cut, texts):
        room -= _bytes(text) + 2
        if room < 0:
            return
        yield text


def _cut(text: str) -> str:
    """Return a text of at most VALUE_LIMIT bytes of JSON, with MARK in place of its end if it is longer."""
    if ESCAPED * len(text) + 2 <= VALUE_LIMIT or _bytes(text) <= VALUE_LIMIT:
        return text
    kept = text[: VALUE_LIMIT - len(MARK) - 2]
    while _bytes(kept) > VALUE_LIMIT - len(MARK):
        kept = kept[: len(kept) * 3 // 4]
    return kept + MARK


def _bytes(value: Any) -> int:
    try:
        return len(_ENCODER.encode(value))
    except UnicodeEncodeError:  # half of a surrogate pair, which is stored as ASCII
        return len(json.dumps(value))
