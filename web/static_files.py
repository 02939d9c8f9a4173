# SPDX-License-Identifier: Apache-2.0
"""The files that pages load: where they are, and what tells a browser that one has changed."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from reprise.web.drawing import library

STATIC = Path(__file__).parent / "static"
PLOTLY = "plotly.js"
DIGITS = 12  # hexadecimal, of the hash


def content_hash(name: str) -> str:
    """Of a file below /static, as it was when it was first asked for: an upgrade starts the pages anew."""
    return _hash((library() if name == PLOTLY else None) or STATIC / name)


@cache
def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
