# SPDX-License-Identifier: Apache-2.0
"""Access to the chart library plotly.js in the Python package `plotly`; this host serves it together with the pages."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

FILE = "package_data/plotly.min.js"
_SHEET = re.compile(r"""\.textContent=(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")""")


def library() -> Path | None:
    """Return the path of the library's file; None if the package is not installed."""
    found = find_spec("plotly")
    path = Path(found.origin or "").parent / FILE if found else None
    return path if path and path.is_file() else None


def style_sources(script: str) -> list[str]:
    """Return the hashes of the library's style sheets, in the form that a Content-Security-Policy requires.

    `script` is the text of the library. One of its style sheets is initially empty; the library adds rules to it later.
    """
    texts = [one[1] or one[2] or "" for one in _SHEET.finditer(script)]
    sheets = dict.fromkeys(["", *(re.sub(r"\\(.)", _unescaped, text) for text in texts)])
    return [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in sheets]


def _unescaped(escape: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escape[1], escape[1])
