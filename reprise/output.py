# SPDX-License-Identifier: Apache-2.0
"""Form of the documents that commands print with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERSION = 1
"""Version of every command's document; within a version, keys are only added (docs/reference/commands.md)."""


def versioned(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the version of its form, unless it already has one."""
    return {"version": VERSION, **document}
