# SPDX-License-Identifier: Apache-2.0
"""A benchmark's folder of batch scripts, unpacked if the folder contains an archive."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def unpacked(folder: Path) -> Iterator[Path]:
    """Yield `folder`, or, if it contains an archive (`*.tar.*`), a temporary directory with the archive's contents."""
    archives = sorted(folder.glob("*.tar.*"))
    if not archives:
        yield folder
        return
    if len(archives) > 1:
        raise SystemExit(f"{folder}: contains {len(archives)} archives: use a folder with one archive, or with scripts")
    with TemporaryDirectory(dir="/var/tmp", prefix="reprise-bench-recognition-") as name:
        command: list[str | Path] = ["tar", "--extract", "--no-same-owner", "--file", archives[0], "--directory", name]
        subprocess.run(command, check=True)
        yield Path(name)
