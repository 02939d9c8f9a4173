# SPDX-License-Identifier: Apache-2.0
"""Comparison of a job's access patterns with those that its record was measured with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reprise.database.entities import JobPattern
from reprise.matcher.council.access_pattern import SIZE_CLASSES, UNKNOWN, pattern_of
from reprise.matcher.errors import CouncilError

LEAST_KNOWN = 0.5
"""Least share of a job's bytes with a known pattern for which the job is compared with its record."""
LEAST_ALIKE = 0.5
"""Least share of the bytes with known patterns that have the record's patterns if the job behaves like the record."""


def kind_of(pattern: str) -> str | None:
    """Return the kind of the accesses in a pattern's text; None if the pattern is unknown, or of another release."""
    try:
        known = pattern_of(pattern)
    except CouncilError:
        return None
    return None if known is None else f"{known.operation}/{known.files}/{known.spatiality}"


def known_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds that this release knows, each once and sorted."""
    return tuple(sorted({kind for kind in kinds if kind_of(f"{kind}/{next(iter(SIZE_CLASSES))}") == kind}))


def known_bytes(patterns: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """Return the bytes of each kind of a job's accesses, given those of each pattern.

    The result is empty if less than LEAST_KNOWN of all bytes have a known pattern.
    """
    bytes_of: dict[str | None, int] = {}
    for pattern, size in patterns:
        kind = None if pattern == UNKNOWN else kind_of(pattern)
        bytes_of[kind] = bytes_of.get(kind, 0) + size
    total = sum(bytes_of.values())
    known = {kind: size for kind, size in bytes_of.items() if kind is not None and size > 0}
    return known if sum(known.values()) >= LEAST_KNOWN * total else {}


def otherwise(patterns: Iterable[JobPattern], kinds: Sequence[str]) -> bool | None:
    """Return whether a job's accesses differ from those that its record was measured with; None if unknown."""
    known = known_bytes((one.pattern, one.bytes) for one in patterns)
    if not kinds or not known:
        return None
    return sum(known.get(kind, 0) for kind in set(kinds)) < LEAST_ALIKE * sum(known.values())
