# SPDX-License-Identifier: Apache-2.0
"""The library that draws, plotly.js, as the Python package `plotly` holds it: from this host, as the pages are."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

FILE = "package_data/plotly.min.js"
_SHEET = re.compile(r"""\.textContent=(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")""")


def library() -> Path | None:
    """Where it is; None where the package is not installed."""
    found = find_spec("plotly")
    path = Path(found.origin or "").parent / FILE if found else None
    return path if path and path.is_file() else None


def style_sources(script: str) -> list[str]:
    """What a Content-Security-Policy names the style sheets by that it brings along, an empty one among them, to which
    it adds rules by script."""
    texts = [one[1] or one[2] or "" for one in _SHEET.finditer(script)]
    sheets = dict.fromkeys(["", *(re.sub(r"\\(.)", _unescaped, text) for text in texts)])
    return [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in sheets]


def _unescaped(escape: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escape[1], escape[1])
