# SPDX-License-Identifier: Apache-2.0
"""A small client of 9P2000.L, for tests of the forwarder. Requests can be sent without waiting for their replies."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RLERROR, TLOPEN, TLCREATE, TGETATTR, TSETATTR, TFSYNC, TRENAME = 7, 12, 14, 24, 26, 50, 20
TVERSION, TAUTH, TATTACH, TFLUSH, TWALK, TREAD, TWRITE, TCLUNK, TREMOVE = 100, 102, 104, 108, 110, 116, 118, 120, 122
NO_FID = 0xFFFFFFFF
NO_TAG = 0xFFFF
VERSION, BURST = "9P2000.L", "9P2000.L.burst"
UNKNOWN = "unknown"
"""Version that a server replies if it does not know the client's; diod replies an error."""
ROOT = 1
"""Number of the fid of the export's root."""
TIMEOUT_S = 30


@dataclass(frozen=True)
class Reply:
    """A reply, without its size, type and tag."""

    kind: int
    tag: int
    body: bytes

    def checked(self) -> bytes:
        """Return the body; raise OSError for an error."""
        if self.kind == RLERROR:
            number = struct.unpack("<I", self.body)[0]
            raise OSError(number, os.strerror(number))
        return self.body


def text(value: str) -> bytes:
    """Return a string of the protocol."""
    return struct.pack("<H", len(value.encode())) + value.encode()


class Nine:
    """A connection, attached to an export."""

    def __init__(
        self,
        address: Path,
        export: Path | None = None,
        user: str = "job-7",
        credential: bytes = b"",
        version: str = VERSION,
    ) -> None:
        """Connect; attach if an export is given, with a credential of munge if there is one."""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(str(address))
        self.buffer = b""
        self.early: dict[int, Reply] = {}
        self.tag = 0
        self.fid = ROOT + 1
        if export is not None:
            reply = self.wait(self.send(TVERSION, struct.pack("<I", 65536) + text(version), NO_TAG))
            self.version = UNKNOWN if reply.kind == RLERROR else reply.body[6:].decode()
            if self.version == UNKNOWN:
                return
            self.msize = struct.unpack("<I", reply.body[:4])[0]
            who = text(user) + text(str(export)) + struct.pack("<I", os.getuid())
            if credential:
                self.call(TAUTH, struct.pack("<I", ROOT + 1) + who)
                self.call(TWRITE, struct.pack("<IQI", ROOT + 1, 0, len(credential)) + credential)
            self.call(TATTACH, struct.pack("<II", ROOT, ROOT + 1 if credential else NO_FID) + who)

    def close(self) -> None:
        """Disconnect."""
        self.socket.close()

    def send(self, kind: int, body: bytes, tag: int | None = None) -> int:
        """Send a request and return its tag."""
        if tag is None:
            self.tag = tag = (self.tag + 1) % NO_TAG
        self.socket.sendall(struct.pack("<IBH", 7 + len(body), kind, tag) + body)
        return tag

    def next(self) -> Reply:
        """Return the next reply that arrives; raise ConnectionError if the connection ends."""
        while len(self.buffer) < 4 or len(self.buffer) < struct.unpack("<I", self.buffer[:4])[0]:
            more = self.socket.recv(1 << 20)
            if not more:
                raise ConnectionError("the forwarder closed the connection")
            self.buffer += more
        size, kind, tag = struct.unpack("<IBH", self.buffer[:7])
        body, self.buffer = self.buffer[7:size], self.buffer[size:]
        return Reply(kind, tag, body)

    def wait(self, tag: int) -> Reply:
        """Return the reply with a tag, and keep others that arrive before it."""
        while tag not in self.early:
            reply = self.next()
            self.early[reply.tag] = reply
        return self.early.pop(tag)

    def call(self, kind: int, body: bytes, tag: int | None = None) -> bytes:
        """Send a request and return the body of its reply."""
        return self.wait(self.send(kind, body, tag)).checked()

    def walk(self, path: str, start: int = ROOT) -> int:
        """Return a new fid for a path below the export."""
        self.fid += 1
        names = [name for name in path.split("/") if name]
        body = struct.pack("<IIH", start, self.fid, len(names)) + b"".join(map(text, names))
        found = struct.unpack("<H", self.call(TWALK, body)[:2])[0]
        if found < len(names):
            raise FileNotFoundError(path)
        return self.fid

    def open(self, path: str, flags: int = os.O_RDWR) -> int:
        """Return a fid of an existing file, opened."""
        fid = self.walk(path)
        self.call(TLOPEN, struct.pack("<II", fid, flags))
        return fid

    def create(self, path: str, flags: int = os.O_RDWR) -> int:
        """Return a fid of a new file, opened."""
        directory, _, name = path.rpartition("/")
        fid = self.walk(directory)
        self.call(TLCREATE, struct.pack("<I", fid) + text(name) + struct.pack("<III", flags | os.O_CREAT, 0o644, 0))
        return fid

    def send_write(self, fid: int, offset: int, data: bytes) -> int:
        """Send a Twrite and return its tag."""
        return self.send(TWRITE, struct.pack("<IQI", fid, offset, len(data)) + data)

    def write(self, fid: int, offset: int, data: bytes) -> None:
        """Write data, in messages of the negotiated size; raise OSError if fewer bytes were written."""
        most = self.msize - 24
        parts = [data[i : i + most] for i in range(0, len(data), most)]
        tags = [self.send_write(fid, offset + i * most, part) for i, part in enumerate(parts)]
        for tag, part in zip(tags, parts, strict=True):
            count = struct.unpack("<I", self.wait(tag).checked())[0]
            if count != len(part):
                raise OSError(f"short write: {count} of {len(part)} bytes")

    def send_read(self, fid: int, offset: int, count: int) -> int:
        """Send a Tread and return its tag."""
        return self.send(TREAD, struct.pack("<IQI", fid, offset, count))

    def read(self, fid: int, offset: int, count: int) -> bytes:
        """Read up to the given number of bytes, or to the end of the file."""
        data = b""
        while len(data) < count:
            part = min(count - len(data), self.msize - 24)
            more = self.wait(self.send_read(fid, offset + len(data), part)).checked()[4:]
            data += more
            if len(more) < part:
                break
        return data

    def size(self, fid: int) -> int:
        """Return the size that Tgetattr reports."""
        body = self.call(TGETATTR, struct.pack("<IQ", fid, 0x7FF))
        return int(struct.unpack("<Q", body[49:57])[0])

    def truncate(self, fid: int, size: int) -> None:
        """Set a file's size."""
        self.call(TSETATTR, struct.pack("<IIIIIQQQQQ", fid, 8, 0, 0, 0, size, 0, 0, 0, 0))

    def fsync(self, fid: int) -> None:
        """Wait until what was written is safe."""
        self.call(TFSYNC, struct.pack("<II", fid, 0))

    def clunk(self, fid: int) -> None:
        """Close a fid."""
        self.call(TCLUNK, struct.pack("<I", fid))

    def rename(self, fid: int, name: str) -> None:
        """Rename a file within the export's root."""
        self.call(TRENAME, struct.pack("<II", fid, ROOT) + text(name))


def contents(count: int, seed: int = 1) -> bytes:
    """Return random bytes."""
    return random.Random(seed).randbytes(count)  # noqa: S311 - not used for security


def connects(address: Path) -> Callable[[], bool]:
    """Return a function that checks whether something listens on a Unix socket."""

    def probe() -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(address))
            except OSError:
                return False
            return True

    return probe
