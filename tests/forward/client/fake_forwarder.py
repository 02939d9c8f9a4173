# SPDX-License-Identifier: Apache-2.0
"""A small 9P server that serves a directory, and does wrong what a test asks for."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

TLOPEN, TGETATTR, TFSYNC, TVERSION, TAUTH, TATTACH, TWALK, TREAD, TWRITE, TCLUNK = (
    *(12, 24, 50, 100, 102, 104),
    *(110, 116, 118, 120),
)
RLERROR = 7
EIO, ENOENT = 5, 2
GONE, HOLD = b"gone", b"hold"

Fault = Callable[["Session", int, int, bytes], bytes | None]
"""Gets the session, a request's type, its tag and its fields, and returns the bytes to send instead of the right
reply, GONE to close the connection, HOLD to send nothing, or None for the right reply."""


def message(kind: int, tag: int, fields: bytes) -> bytes:
    return struct.pack("<IBH", 7 + len(fields), kind, tag) + fields


def error(tag: int, number: int = EIO) -> bytes:
    return message(RLERROR, tag, struct.pack("<I", number))


@dataclass
class Session:
    connection: socket.socket
    server: FakeForwarder
    paths: dict[int, Path] = field(default_factory=dict)
    files: dict[int, int] = field(default_factory=dict)

    def receive(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.connection.recv(size - len(got))
            if not part:
                raise ConnectionResetError
            got += part
        return got

    def serve(self) -> None:
        try:
            while True:
                size, kind, tag = struct.unpack("<IBH", self.receive(7))
                fields = self.receive(size - 7)
                self.server.seen.append(kind)
                reply = self.server.fault(self, kind, tag, fields) if self.server.fault else None
                if reply == GONE:
                    return
                if reply != HOLD:
                    self.connection.sendall(self.right(kind, tag, fields) if reply is None else reply)
        except OSError:
            pass
        finally:
            self.connection.close()
            for file in self.files.values():
                os.close(file)

    def right(self, kind: int, tag: int, fields: bytes) -> bytes:
        """Return the right reply to a request."""
        try:
            return message(kind + 1, tag, self.answer(kind, fields))
        except OSError as problem:
            return error(tag, problem.errno or EIO)

    def qid(self, path: Path) -> bytes:
        return struct.pack("<BIQ", 0, 0, path.stat().st_ino)

    def answer(self, kind: int, fields: bytes) -> bytes:
        """Return the fields of the right reply; raise OSError if it is an error."""
        fid = struct.unpack_from("<I", fields)[0]
        answers: dict[int, Callable[[], bytes]] = {
            TVERSION: lambda: struct.pack("<I", min(fid, self.server.message_bytes)) + fields[4:],
            TATTACH: lambda: self.qid(self.paths.setdefault(fid, self.server.directory)),
            TWALK: lambda: self.walk(fid, fields),
            TGETATTR: lambda: self.attributes(self.paths[fid]),
            TLOPEN: lambda: self.open(fid, struct.unpack_from("<I", fields, 4)[0]),
            TREAD: lambda: self.read(*struct.unpack_from("<IQI", fields)),
            TWRITE: lambda: self.write(fid, struct.unpack_from("<Q", fields, 4)[0], fields[16:]),
            TFSYNC: lambda: self.sync(fid),
            TCLUNK: lambda: self.close(fid),
        }
        if kind not in answers:
            raise OSError(ENOENT, "no such request")
        return answers[kind]()

    def attributes(self, path: Path) -> bytes:
        return struct.pack("<Q", 0x7FF) + self.qid(path) + struct.pack("<I", path.stat().st_mode) + bytes(132)

    def open(self, fid: int, flags: int) -> bytes:
        self.files[fid] = os.open(self.paths[fid], flags)
        return self.qid(self.paths[fid]) + bytes(4)

    def read(self, fid: int, offset: int, count: int) -> bytes:
        data = os.pread(self.files[fid], count, offset)
        return struct.pack("<I", len(data)) + data

    def write(self, fid: int, offset: int, data: bytes) -> bytes:
        return struct.pack("<I", os.pwrite(self.files[fid], data, offset))

    def sync(self, fid: int) -> bytes:
        os.fsync(self.files[fid])
        return b""

    def close(self, fid: int) -> bytes:
        self.paths.pop(fid)
        if fid in self.files:
            os.close(self.files.pop(fid))
        return b""

    def walk(self, fid: int, fields: bytes) -> bytes:
        _, new, count = struct.unpack_from("<IIH", fields)
        path, at, qids = self.paths[fid], 10, b""
        for _ in range(count):
            length = struct.unpack_from("<H", fields, at)[0]
            path /= fields[at + 2 : at + 2 + length].decode()
            at += 2 + length
            qids += self.qid(path)
        self.paths[new] = path
        return struct.pack("<H", count) + qids


class FakeForwarder:
    """Serves `directory` on a Unix socket, from threads of this process, until the context ends."""

    def __init__(self, address: Path, directory: Path, fault: Fault | None = None, message_bytes: int = 65536) -> None:
        self.address = str(address)
        self.directory = directory
        self.fault = fault
        self.message_bytes = message_bytes
        self.seen: list[int] = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def count(self, kind: int) -> int:
        return self.seen.count(kind)

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=Session(connection, self).serve, daemon=True).start()

    def __enter__(self) -> FakeForwarder:
        self.listener.bind(self.address)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
