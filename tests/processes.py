# SPDX-License-Identifier: Apache-2.0
"""State of processes that a test has started."""

from __future__ import annotations

from pathlib import Path


def lives(process: int) -> bool:
    """Return whether it is still active: not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
