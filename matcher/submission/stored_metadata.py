# SPDX-License-Identifier: Apache-2.0
"""Stored form of a job's metadata: JSON of limited size, in which long texts are truncated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from reprise.matcher.submission.metadata import JobMetadata

STORED_LIMIT = 16_384
"""Maximum bytes of JSON for one job's metadata.

Real scripts need less than 4 KiB, but a program may have 256 arguments of 1,024 characters.
"""
VALUE_LIMIT = 768
"""Maximum bytes of JSON for a text in metadata that exceeds STORED_LIMIT, and for a compared value in a decision."""
MODULES_LIMIT = 1_536
"""Maximum bytes of JSON for the modules, if the metadata exceeds STORED_LIMIT."""
PROGRAMS_LIMIT = 512
"""Maximum bytes of JSON for the names of all programs, if the metadata exceeds STORED_LIMIT."""
MPI_SIGNS_LIMIT = 384
"""Maximum bytes of JSON for the signs of an MPI, if the metadata exceeds STORED_LIMIT."""
OPTIONS_LIMIT = 4_608
"""Maximum bytes of JSON for the program's options, if the metadata exceeds STORED_LIMIT.

With these limits, the modules, programs, signs of an MPI, options, eleven texts, four sketches, the build ID, the MPI
library and the keys fit into STORED_LIMIT.
"""
OMITTED = "omitted_bytes"
"""Key in stored metadata whose value is the number of bytes of JSON that were omitted."""
MARK = "..."
_ENCODER = msgspec.json.Encoder()
ESCAPED = 12  # maximum bytes of JSON for one character, as in `\\ud83d\\ude00`


def stored(job: JobMetadata) -> dict[str, Any]:
    """Return the job's metadata as a JSON-ready dictionary of at most STORED_LIMIT bytes of JSON.

    The caller must have masked the job's secrets, because a truncated secret can no longer be recognized.
    """
    data = job.to_json()
    texts = sum(len(value) for value in data.values() if isinstance(value, str))
    texts += sum(map(len, (*job.modules, *job.programs, *job.mpi_signs)))
    words = sum(len(key) + sum(map(len, values)) + 8 * len(values) for key, values in job.options.items())
    if (
        ESCAPED * (texts + words) + 8 * (len(job.modules) + len(job.programs) + len(job.mpi_signs)) + 512
        <= STORED_LIMIT
    ):  # nearly always
        return data
    whole = _bytes(data)
    if whole <= STORED_LIMIT:
        return data
    shorter = {key: _cut(value) if isinstance(value, str) else value for key, value in data.items()}
    shorter["modules"] = list(_first(data["modules"], MODULES_LIMIT))
    shorter["programs"] = list(_first(data["programs"], PROGRAMS_LIMIT))
    shorter["mpi_signs"] = list(_first(data["mpi_signs"], MPI_SIGNS_LIMIT))
    shorter["options"] = first_options(data["options"], OPTIONS_LIMIT)
    return {**shorter, OMITTED: whole - _bytes(shorter)}


def shown(value: Any) -> Any:
    """Return a compared value, truncated to about VALUE_LIMIT bytes of JSON; MARK shows where it is truncated."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, Mapping):
        if _bytes(value) <= VALUE_LIMIT:
            return {key: list(values) for key, values in value.items()}
        short = first_options(value, VALUE_LIMIT)
        return short if len(short) == len(value) else {**short, MARK: []}
    return value


def first_options(options: Mapping[str, Sequence[str]], limit: int) -> dict[str, list[str]]:
    """Return as many of the first options and values as fit into `limit` bytes of JSON; long values are truncated."""
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
    """Return the text, truncated to VALUE_LIMIT bytes of JSON; a truncated text ends in MARK."""
    if ESCAPED * len(text) + 2 <= VALUE_LIMIT or _bytes(text) <= VALUE_LIMIT:
        return text
    kept = text[: VALUE_LIMIT - len(MARK) - 2]
    while _bytes(kept) > VALUE_LIMIT - len(MARK):
        kept = kept[: len(kept) * 3 // 4]
    return kept + MARK


def _bytes(value: Any) -> int:
    try:
        return len(_ENCODER.encode(value))
    except UnicodeEncodeError:  # the text has half of a surrogate pair, which is stored as ASCII
        return len(json.dumps(value))
