# SPDX-License-Identifier: Apache-2.0
"""A file system that hangs like NFS without its server. A process that opens a file there cannot be killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

_INIT, _LARGEST = 26, 1 << 17  # opcode of FUSE's first request, and size of the largest request in bytes
_HEADER = struct.Struct("<IIQQIII")
_DETACH = 2  # umount2(2)
_LIBC = ctypes.CDLL(None, use_errno=True)


def can_be_mounted() -> bool:
    """Return whether this process can mount a hung file system, which requires root and FUSE."""
    return os.geteuid() == 0 and Path("/dev/fuse").exists()


@contextlib.contextmanager
def hung_filesystem(directory: Path) -> Iterator[threading.Event]:
    """Mount a hung file system on an existing directory; yield an event. Once it is set, all requests get errors."""
    answers = threading.Event()
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    try:
        if _LIBC.mount(b"hung", os.fsencode(directory), b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")
        serving = threading.Thread(target=_serve, args=(device, answers), daemon=True)
        serving.start()
        try:
            yield answers
        finally:
            answers.set()
            _LIBC.umount2(os.fsencode(directory), _DETACH)
            serving.join(10)
    finally:
        os.close(device)


def _serve(device: int, answers: threading.Event) -> None:
    """Read requests until the file system is unmounted.

    Once a request has been read, the process that made the request cannot be killed.
    """
    with contextlib.suppress(OSError):
        while True:
            request = os.read(device, _LARGEST)
            _, what, unique, *_ = _HEADER.unpack_from(request)
            if what == _INIT:
                body = struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 12, 9, 4096, 1, 1, 0, 0, *([0] * 7))
                os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
            else:
                threading.Thread(target=_refuse_later, args=(device, unique, answers), daemon=True).start()


def _refuse_later(device: int, unique: int, answers: threading.Event) -> None:
    answers.wait()
    with contextlib.suppress(OSError):
        os.write(device, struct.pack("<IiQ", 16, -5, unique))
