# SPDX-License-Identifier: Apache-2.0
"""Files of the council: what it has learned, and the reports that it received.

The directory has `learned.json`, `metrics.jsonl` and, once that was full, `metrics.1.jsonl` with the reports before.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reprise.matcher.council import learned_windows
from reprise.matcher.council.council_settings import CouncilSettings
from reprise.matcher.council.json_lines import LONGEST
from reprise.matcher.council.recorded_metrics import HEADER
from reprise.matcher.council.window_council import Learned
from reprise.matcher.errors import ServiceError

LEARNED = "learned.json"
RECORDED = "metrics.jsonl"
RECORDED_BEFORE = "metrics.1.jsonl"
LOCK = ".lock"
MODE = 0o640


class CouncilFiles:
    """Directory of one council, which must `hold` it first. `most_bytes` of reports are kept twice; 0: none."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self.path = path
        self._most_bytes = most_bytes
        self._lock = -1

    def hold(self) -> None:
        """Create the directory if it is missing, and lock it until `release`.

        Raise ServiceError if another council holds it, or if it cannot be used.
        """
        try:
            self.path.mkdir(mode=0o750, exist_ok=True)
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._repair()
        except BlockingIOError as error:
            self.release()
            raise ServiceError(f"{self.path}: another council is running and keeps its files there: stop it") from error
        except OSError as error:
            raise ServiceError(
                f"{self.path}: the council cannot keep files there ({error.strerror}): make the directory, writable by "
                "the council's user, or set council.directory to another one"
            ) from error

    def release(self) -> None:
        """Let another council hold the directory."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def learned(self, settings: CouncilSettings) -> Learned | None:
        """Return the stored knowledge; None if there is none. Raise CouncilError or ServiceError if it is unusable."""
        path = self.path / LEARNED
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ServiceError(
                f"{path}: cannot be read ({error.strerror}): let the council's user read it, or remove it"
            ) from error
        return learned_windows.read(content, str(path), settings)

    def store(self, document: dict[str, Any]) -> None:
        """Store knowledge, a `learned_windows.document`; a reader sees the old file or the new one. Raise OSError."""
        temporary = self.path / f".{LEARNED}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, MODE), "w") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / LEARNED)
        self._sync()

    def record(self, lines: Sequence[str]) -> None:
        """Append lines of `recorded_metrics`, each at most as long as the limit. Raise OSError."""
        if not lines or not self._most_bytes:
            return
        path = self.path / RECORDED
        text = "".join(f"{line}\n" for line in lines)
        size = path.stat().st_size if path.exists() else 0
        if size and size + len(text) > self._most_bytes:
            path.replace(self.path / RECORDED_BEFORE)
            size = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, MODE)
        try:
            with os.fdopen(descriptor, "ab", closefd=False) as file:
                file.write((text if size else f"{HEADER}\n{text}").encode())
        except OSError:
            os.ftruncate(descriptor, size)  # no half line stays, for example if the file system is full
            raise
        finally:
            os.close(descriptor)

    def _repair(self) -> None:
        """Remove the half of a line that a council left which was killed while it wrote."""
        path = self.path / RECORDED
        if not path.exists():
            return
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            begin = file.seek(max(0, size - LONGEST))
            file.truncate(begin + file.read().rfind(b"\n") + 1)

    def _sync(self) -> None:
        """Make changes of names last through a power failure."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
