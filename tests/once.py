# SPDX-License-Identifier: Apache-2.0
"""Directories that take a long time to create, and are shared by all pytest processes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

KEPT = Path(__file__).parents[1] / "build/tests"
SYSTEM = ("/usr/include/slurm/slurm_version.h", "/usr/include/json-c/json_c_version.h", "/usr/include/munge.h")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return the session's directory `name`. The first process calls `make` to fill it; other processes wait."""
    base = factory.getbasetemp()
    return _made(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base, name, make)


def built_once(name: str, compiler: str, sources: Iterable[Path], make: Callable[[Path], None]) -> Path:
    """Return a directory below build/ with programs compiled by `make`, now or in an earlier run.

    The programs are compiled again only if a source file, the compiler or a system header has changed.
    """
    parts = [path.name.encode() + path.read_bytes() for path in sorted(sources)]
    for file in (shutil.which(compiler) or compiler, *SYSTEM):
        if Path(file).exists():
            parts.append(repr((os.path.realpath(file), Path(file).stat().st_mtime_ns)).encode())
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
    KEPT.mkdir(parents=True, exist_ok=True)
    return _made(KEPT, f"{name}-{key}", make)


def _made(place: Path, name: str, make: Callable[[Path], None]) -> Path:
    directory = place / name
    directory.mkdir(exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "built").exists():
            make(directory)
            (directory / "built").touch()
    return directory
