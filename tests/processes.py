# SPDX-License-Identifier: Apache-2.0
"""Processes that a test has seen begin."""

from __future__ import annotations

from pathlib import Path


def lives(process: int) -> bool:
    """Whether it still does anything: not one that has ended and is not waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
