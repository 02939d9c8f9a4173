# SPDX-License-Identifier: Apache-2.0
"""Static files of the pages: their location, and the hash that makes browsers reload changed files."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from reprise.web.drawing import library

STATIC = Path(__file__).parent / "static"
PLOTLY = "plotly.js"
DIGITS = 12  # hexadecimal, of the hash


def content_hash(name: str) -> str:
    """Return the hash of a file below /static, cached until the pages restart, as they do after an upgrade."""
    return _hash((library() if name == PLOTLY else None) or STATIC / name)


@cache
def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
