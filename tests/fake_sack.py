# SPDX-License-Identifier: Apache-2.0
"""A fake of the socket on which Slurm's daemons make and verify tokens (SACK), with a separate key."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

CREATE, VERIFY = 64001, 64002  # requests
ANY_USER = 2**32 - 1  # the claim `ruid` (reader) of a token that every user may verify
HEADER = b'{"alg":"HS256","typ":"JWT"}'


def url(data: bytes) -> bytes:
    """Return base64url without padding, as in a token."""
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class FakeSack:
    """A context manager that serves `socket`, which is in a directory that all users may enter.

    If `replies` is set, the fake calls it with the kind and the data of each request, and sends what it returns. If
    `hangs` is set, nothing is sent. If `believes` is set, every token counts as valid. All tokens are issued `ahead_s`
    seconds in the future, because a daemon refuses tokens of the second in which it started.
    """

    def __init__(self, ahead_s: int = 2) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="sack-")
        self.socket = Path(self._directory.name) / "sack.socket"
        self.key = os.urandom(32)
        self.ahead_s = ahead_s
        self.replies: Callable[[int, bytes], bytes] | None = None
        self.hangs = False
        self.believes = False
        self.asked: list[tuple[int, int]] = []  # version and kind of each request

    def __enter__(self) -> FakeSack:
        Path(self._directory.name).chmod(0o755)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.socket))
        self.socket.chmod(0o777)
        self._listener.listen(64)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        self._directory.cleanup()

    def claims(self, payload: bytes, uid: int, reader: int) -> dict[str, Any]:
        """Return the claims of a token that Slurm would make."""
        now = int(time.time()) + self.ahead_s
        return {
            "iat": now,
            "exp": now + 60,
            "ver": 10752,
            "ruid": reader,
            "context": "sack",
            "cluster": "test",
            "uid": uid,
            "gid": uid,
            "host": "node0",
            "payload": base64.b64encode(payload).decode(),
        }

    def token(self, payload: bytes, uid: int, reader: int, /, **changes: Any) -> bytes:
        """Return a token with changed claims; a claim whose value is None is left out."""
        claims = {**self.claims(payload, uid, reader), **changes}
        return self.signed(json.dumps({name: value for name, value in claims.items() if value is not None}).encode())

    def signed(self, claims: bytes, header: bytes = HEADER) -> bytes:
        """Return a signed token of any contents."""
        text = url(header) + b"." + url(claims)
        return text + b"." + url(hmac.digest(self.key, text, hashlib.sha256))

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError, struct.error):
                self._talk(peer)

    def _talk(self, peer: socket.socket) -> None:
        _pid, uid, _gid = struct.unpack("3I", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        with peer.makefile("rb") as stream:
            version, length, kind = struct.unpack(">HII", stream.read(10))
            data = stream.read(length - 8)
            self.asked.append((version, kind))
            if self.hangs:
                stream.read(1)  # returns when the client has given up
                return
        peer.sendall(self.replies(kind, data) if self.replies else self._reply(kind, data, uid))

    def _reply(self, kind: int, data: bytes, uid: int) -> bytes:
        if kind == CREATE:
            reader, size = struct.unpack(">II", data[:8])
            assert len(data) == 8 + size
            token = self.token(data[8:], uid, reader) + b"\0"
            return struct.pack(">I", len(token)) + token
        assert struct.unpack(">I", data[:4]) == (len(data) - 4,) and data.endswith(b"\0")
        return bytes(4) if self.believes or self._verifies(data[4:-1], uid) else b""

    def _verifies(self, token: bytes, uid: int) -> bool:
        try:
            text, _, signature = token.rpartition(b".")
            claims = json.loads(base64.urlsafe_b64decode(text.partition(b".")[2] + b"=="))
            given = base64.urlsafe_b64decode(signature + b"==")
            return (
                hmac.compare_digest(given, hmac.digest(self.key, text, hashlib.sha256))
                and claims["exp"] >= time.time()
                and claims["ruid"] in (ANY_USER, uid)
                and claims["context"] in ("auth", "sack")
            )
        except (ValueError, KeyError, TypeError):
            return False
