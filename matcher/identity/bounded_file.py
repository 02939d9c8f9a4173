# SPDX-License-Identifier: Apache-2.0
"""A regular, world-readable file, read up to a number of bytes and until a deadline."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PIECE = 1 << 20
"""Bytes read between two checks of the clock: 1 ms from memory, 10 ms over a 100 MB/s network file system."""


class NotIdentifiedError(Exception):
    """Error: a file cannot be identified. It is not regular, not world-readable, too large, malformed or too slow."""


class Version(NamedTuple):
    """Version of a file, which changes with its bytes. `changed_ns` is the time of the last change in nanoseconds."""

    device: int
    inode: int
    changed_ns: int
    size: int


class BoundedFile:
    """An open file whose parts are read: `budget` bytes at most, and none after `deadline` (of time.monotonic)."""

    def __init__(self, descriptor: int, version: Version, budget: int, deadline: float) -> None:
        self.version = version
        self._descriptor = descriptor
        self._left = budget
        self._deadline = deadline

    def read(self, start: int, size: int) -> bytes:
        """Return `size` bytes from `start`, fewer at the file's end.

        Raise NotIdentifiedError if the budget is used up or the deadline has passed.
        """
        pieces = []
        size = min(size, max(0, self.version.size - start))
        if size > self._left:
            raise NotIdentifiedError("reading it would take more bytes than a file is allowed")
        self._left -= size
        while size > 0:
            if time.monotonic() > self._deadline:
                raise NotIdentifiedError("the deadline has passed")
            piece = os.pread(self._descriptor, min(size, PIECE), start)
            if not piece:
                break
            pieces.append(piece)
            start, size = start + len(piece), size - len(piece)
        return b"".join(pieces)


def require_readable(mode: int) -> None:
    """Raise NotIdentifiedError unless the mode is that of a regular, world-readable file."""
    if not stat.S_ISREG(mode):
        raise NotIdentifiedError("it is not a regular file")
    if not mode & stat.S_IROTH:
        raise NotIdentifiedError("it is not world-readable")


@contextmanager
def opened(path: str, budget: int, deadline: float) -> Iterator[BoundedFile]:
    """Open a file for `BoundedFile`. Raise NotIdentifiedError, or OSError as the system reports it.

    The path is first opened without access to what it names, so that a FIFO does not wait and a device does nothing;
    the file is only opened for reading once its type is known. Only world-readable files are read: nothing that the
    caller alone may read must leak through a path that a user names.
    """
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        found = os.fstat(place)
        require_readable(found.st_mode)
        descriptor = os.open(Path("/proc/self/fd") / str(place), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(place)
    try:
        version = Version(found.st_dev, found.st_ino, max(found.st_mtime_ns, found.st_ctime_ns), found.st_size)
        yield BoundedFile(descriptor, version, budget, deadline)
    finally:
        os.close(descriptor)
