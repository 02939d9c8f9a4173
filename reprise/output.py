# SPDX-License-Identifier: Apache-2.0
"""Format of the documents that commands print with `--json`, and of texts that must be one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERSION = 1
"""Format version of all commands' documents; within a version, keys are only added (docs/reference/commands.md)."""


def versioned(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the version of its format added, unless it already has a version."""
    return {"version": VERSION, **document}


def on_one_line(words: str) -> str:
    """Return words on one line, in which everything that is not printable is a space."""
    return " ".join("".join(one if one.isprintable() else " " for one in words).split())
