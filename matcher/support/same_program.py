# SPDX-License-Identifier: Apache-2.0
"""A phrase on how far a job's program and the record's agree, from the comparison of their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.matcher.submission.sketch import shared

_WHAT = {"functions": "function names", "contents": "words", "imports": "uses of libraries and modules"}
"""Meaning of the shares in a program's identity, the one with the largest weight first."""
REBUILT = 0.8
"""Share of common names from which two programs count as builds of one.

Builds measured had 0.9 or more, strangers 0.25 or less, and a share is known to 0.09.
"""


def program_text(fields: Sequence[Mapping[str, Any]]) -> str:
    """Return how similar a job's and a record's program are, e.g. "same build"; "" if their files are unknown."""
    parts = {
        part["name"]: part
        for field in fields
        for part in field["parts"]
        if part["left"] and part["right"] and not (field.get("hidden") or part.get("hidden"))
    }
    if "build_id" in parts and parts["build_id"]["similarity"] == 1:
        return "same build"
    told = [f"{shared(parts[name]['similarity']):.0%} of {what}" for name, what in _WHAT.items() if name in parts]
    if not told:
        return ""
    first = next(name for name in _WHAT if name in parts)
    share = shared(parts[first]["similarity"])
    if first != "imports" and share >= REBUILT:
        return f"rebuilt: {told[0].replace('%', ' %')}"
    return f"in common: {', '.join(told).replace('%', ' %')}"
