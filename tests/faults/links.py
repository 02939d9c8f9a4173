# SPDX-License-Identifier: Apache-2.0
"""Functions that put an unusable file or link in place of an expected file."""

from __future__ import annotations

from pathlib import Path


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def link_to_the_zero_device(path: Path) -> None:
    path.symlink_to("/dev/zero")
