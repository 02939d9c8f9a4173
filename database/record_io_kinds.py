# SPDX-License-Identifier: Apache-2.0
"""Kinds of accesses with which a record was measured, as its parametrization has them.

A record of the component `forwarders` that replayed an access pattern has in its parametrization, under the key
`PATTERNS`, the kinds of its accesses: `OPERATION/FILES/SPATIALITY`, such as `["write/shared/strided"]`. They leave out
the size of requests, because clients divide large requests, and forwarders see the parts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from reprise.database.entities import Json
from reprise.database.forwarding import COMPONENT
from reprise.database.joint_component import PARTS

PATTERNS = "io_patterns"
KINDS_SQL = f"json_extract(parametrization, '$.{PARTS}.{COMPONENT}.parametrization.{PATTERNS}', '$.{PATTERNS}')"
"""SQL expression for the text that `kinds_in_text` expects."""


def kinds_in(parametrization: Json) -> Sequence[str]:
    """Return the kinds of accesses in a record's parametrization, which may be that of a combination."""
    parts = parametrization.get(PARTS)
    part = parts.get(COMPONENT) if isinstance(parts, dict) else None
    own = part.get("parametrization") if isinstance(part, dict) else parametrization
    return _texts(own.get(PATTERNS)) if isinstance(own, dict) else ()


@lru_cache(maxsize=1024)
def kinds_in_text(text: str) -> Sequence[str]:
    """Return the kinds of accesses of a record, given the text that KINDS_SQL yields for the record's row."""
    try:
        of_part, own = json.loads(text)
    except (TypeError, ValueError):
        return ()
    return _texts(of_part) or _texts(own)


def _texts(stored: Any) -> Sequence[str]:
    return tuple(text for text in stored if isinstance(text, str)) if isinstance(stored, list | tuple) else ()
