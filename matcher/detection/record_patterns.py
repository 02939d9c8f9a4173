# SPDX-License-Identifier: Apache-2.0
"""Access patterns with which a record was measured, and the comparison of a job's patterns with them.

A record of the component `forwarders` that replayed a pattern has in its parametrization, under the key `PATTERNS`, the
kinds of its accesses: `OPERATION/FILES/SPATIALITY`, such as `["write/shared/strided"]`. They leave out the size of
requests, because clients divide large requests, and forwarders see the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reprise.database.entities import JobPattern, Json
from reprise.database.forwarding import COMPONENT
from reprise.database.joint_component import PARTS
from reprise.matcher.council.access_pattern import UNKNOWN, pattern_of
from reprise.matcher.errors import CouncilError

PATTERNS = "io_patterns"
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


def kinds_in(parametrization: Json) -> Sequence[str]:
    """Return the kinds of accesses in a record's parametrization, which may be that of a combination."""
    parts = parametrization.get(PARTS)
    part = parts.get(COMPONENT) if isinstance(parts, dict) else None
    own = part.get("parametrization") if isinstance(part, dict) else parametrization
    stored = own.get(PATTERNS) if isinstance(own, dict) else None
    return [text for text in stored if isinstance(text, str)] if isinstance(stored, list | tuple) else []


def otherwise(patterns: Iterable[JobPattern], kinds: Sequence[str]) -> bool | None:
    """Return whether a job's accesses differ from those that its record was measured with; None if unknown."""
    bytes_of: dict[str | None, int] = {}
    for one in patterns:
        kind = None if one.pattern == UNKNOWN else kind_of(one.pattern)
        bytes_of[kind] = bytes_of.get(kind, 0) + one.bytes
    total = sum(bytes_of.values())
    known = total - bytes_of.get(None, 0)
    if not kinds or not known or known < LEAST_KNOWN * total:
        return None
    return sum(bytes_of.get(kind, 0) for kind in set(kinds)) < LEAST_ALIKE * known
