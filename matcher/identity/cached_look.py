# SPDX-License-Identifier: Apache-2.0
"""Lookup of a path in the kernel's cache of directory entries, which never waits for a file system."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import NamedTuple

from reprise.matcher.identity.bounded_file import Version

_OPENAT2 = 437
"""Number of the system call openat2(2) (Linux 5.6) on all architectures; the C library has no wrapper for it."""
_RESOLVE_CACHED = 0x20
"""Flag of openat2(2) since Linux 5.12, by which the call fails with EAGAIN if part of the path is not cached."""
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_STATX_DONT_SYNC = 0x4000
_STATX_BASIC = 0x7FF
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)


class Look(NamedTuple):
    """Mode and version of the file at a path."""

    mode: int
    version: Version


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_uint32), ("_", ctypes.c_int32))


class _Statx(ctypes.Structure):
    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("_blksize", ctypes.c_uint32),
        ("_attributes", ctypes.c_uint64),
        ("_links", ctypes.c_uint32 * 3),
        ("mode", ctypes.c_uint16),
        ("_spare", ctypes.c_uint16),
        ("inode", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("_blocks", ctypes.c_uint64),
        ("_attributes_mask", ctypes.c_uint64),
        ("_accessed", _Time),
        ("_born", _Time),
        ("changed", _Time),
        ("modified", _Time),
        ("_device_itself", ctypes.c_uint32 * 2),
        ("device_major", ctypes.c_uint32),
        ("device_minor", ctypes.c_uint32),
        ("_more", ctypes.c_uint64 * 14),
    )


_libc = ctypes.CDLL(None, use_errno=True)
_how = _OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_CACHED)


def cached_look(path: str) -> Look | None:
    """Return the mode and version of the file at an absolute path, without waiting; None if they are not cached.

    Raise OSError if there is no such file, and ValueError if the path contains a NUL. Before Linux 5.12, the result is
    always None.
    """
    if "\0" in path:
        raise ValueError("a NUL in the path")
    place = _libc.syscall(_OPENAT2, _AT_FDCWD, os.fsencode(path), ctypes.byref(_how), ctypes.sizeof(_how))
    if place < 0:
        error = ctypes.get_errno()
        if error in _MISSING:
            raise OSError(error, os.strerror(error), path)
        return None
    try:
        found = _Statx()
        flags = _AT_EMPTY_PATH | _AT_STATX_DONT_SYNC
        if _libc.statx(place, b"", flags, _STATX_BASIC, ctypes.byref(found)) != 0:
            return None
        if found.mask & _STATX_BASIC != _STATX_BASIC:
            return None
        return Look(
            found.mode,
            Version(os.makedev(found.device_major, found.device_minor), found.inode, _changed(found), found.size),
        )
    finally:
        os.close(place)


def _changed(found: _Statx) -> int:
    changed: int = max(time.seconds * 10**9 + time.nanoseconds for time in (found.changed, found.modified))
    return changed
