# SPDX-License-Identifier: Apache-2.0
"""Check the state of processes that a test has started."""

from __future__ import annotations

from pathlib import Path


def lives(process: int) -> bool:
    """Return whether the process with this id exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
