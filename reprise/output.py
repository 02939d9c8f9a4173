# SPDX-License-Identifier: Apache-2.0
"""What commands print with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERSION = 1
"""Of every command's document; within it keys are only added (docs/commands.md)."""


def versioned(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the version of its form, unless it has one of its own."""
    return {"version": VERSION, **document}
