# SPDX-License-Identifier: Apache-2.0
"""Static files of the web pages: their location, and hashes that make browsers reload changed files."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from reprise.web.drawing import library

STATIC = Path(__file__).parent / "static"
PLOTLY = "plotly.js"
DIGITS = 12  # number of hexadecimal digits in a hash


def content_hash(name: str) -> str:
    """Return the hash of a file below /static.

    The hash is cached until the pages restart, which they do after an upgrade.
    """
    return _hash((library() if name == PLOTLY else None) or STATIC / name)


@cache
def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
