# SPDX-License-Identifier: Apache-2.0
"""Description of how similar the programs of a job and a record are, based on fingerprints of the programs' files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.matcher.submission.sketch import shared

_WHAT = {"functions": "function names", "contents": "words", "imports": "uses of libraries and modules"}
"""Names of the compared parts of a program's identity, in decreasing order of weight."""
REBUILT = 0.8
"""Smallest share of common names with which two programs count as builds of the same program.

In measurements, builds of the same program had 0.9 or more in common, and different programs 0.25 or less. The error of
a share is 0.09.
"""


def program_text(fields: Sequence[Mapping[str, Any]]) -> str:
    """Return how similar the programs of a job and a record are, such as "same build"; "" if unknown."""
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
