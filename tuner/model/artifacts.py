# SPDX-License-Identifier: Apache-2.0
"""Artifacts: files that jobs read, written once, named by their content, and readable by every user on every node."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from reprise.database.entities import Artifact
from reprise.tuner.errors import TunerError

FILE_MODE = 0o644


def prepare(directory: Path) -> None:
    """Create the directory if it is missing. Raise TunerError if that fails or if other users cannot reach it."""
    try:
        if not directory.is_dir():
            directory.mkdir(parents=True)
            directory.chmod(0o755)
        for place in (directory, *directory.parents):
            if not place.stat().st_mode & stat.S_IXOTH:
                raise TunerError(
                    f"{directory}: jobs cannot read files there, because {place} denies access to others: chmod o+x "
                    f"{place}"
                )
    except OSError as error:
        raise TunerError(
            f"{directory}: cannot be used for artifacts ({error.strerror}): set artifacts.directory to a "
            "directory that you own and all nodes can access"
        ) from error


def publish(directory: Path, text: str, kind: str, suffix: str) -> Artifact:
    """Write `text` to a file named by its SHA-256, atomically and permanently; equal contents share one file."""
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()
    path = directory / f"{digest}{suffix}"
    with temporary(directory, text, suffix) as written:
        _rename(written, path)
    return Artifact(digest, str(path), kind, len(content), time.time())


@contextlib.contextmanager
def temporary(directory: Path, text: str, suffix: str) -> Iterator[Path]:
    """Yield a temporary file in `directory` that every user can read, like an artifact."""
    prepare(directory)
    path = None
    try:
        try:
            handle, name = tempfile.mkstemp(prefix=".new-", suffix=suffix, dir=directory)
            path = Path(name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fchmod(file.fileno(), FILE_MODE)
                os.fsync(file.fileno())
        except OSError as error:
            raise TunerError(
                f"{directory}: cannot write a file ({error.strerror}): free some space, run this as the "
                "directory's owner, or set artifacts.directory"
            ) from error
        yield path
    finally:
        if path:
            path.unlink(missing_ok=True)


def _rename(source: Path, target: Path) -> None:
    source.rename(target)
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
