# SPDX-License-Identifier: Apache-2.0
"""Client of SACK, the socket on which Slurm's daemons make and verify tokens on hosts with auth/slurm.

A daemon identifies the process that connects by its uid (SO_PEERCRED), and signs or verifies a token with the cluster's
key. A request consists of Slurm's protocol version, the length of the rest, the kind of request, and its data; all
integers are big-endian (Slurm, src/plugins/auth/slurm/sack.c). The daemons of 23.11 to 25.11 log the version and do not
check it. A token is signed but not encrypted, and is accepted again until it expires.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from reprise.matcher.wire.credentials import CredentialError, MethodName, Opened, Reusable
from reprise.matcher.wire.jwt import read_claims, signed_digest
from reprise.matcher.wire.protocol import CREDENTIAL_FACTOR, REQUEST_LIMIT

# Sockets of slurmd or sackd, slurmctld, and slurmdbd. The first that exists is used.
SOCKETS = ("/run/slurm/sack.socket", "/run/slurmctld/sack.socket", "/run/slurmdbd/sack.socket")
VERSION = 40 << 8  # the protocol version of Slurm 23.11, the first release with SACK
CREATE = 64001
VERIFY = 64002
VERIFIED = b"\0\0\0\0"
LENGTH = struct.Struct(">I")
TOKEN_LIMIT = CREDENTIAL_FACTOR * REQUEST_LIMIT  # bytes
TIMEOUT_S = 5.0  # for a whole request; a daemon answers in less than a millisecond


class Sack:
    """Maker and opener of tokens, using the daemon that listens on `path` ("" for the usual paths)."""

    name: MethodName = "slurm"
    is_secret = False

    def __init__(self, path: str = "", timeout_s: float = TIMEOUT_S) -> None:
        self._paths = (path,) if path else SOCKETS
        self._timeout_s = timeout_s

    def is_available(self) -> bool:
        """Return whether this host has a socket of SACK."""
        return any(map(os.path.exists, self._paths))

    def trusted_uids(self) -> set[int]:
        """Return the uids of root and of the owners of this host's SACK sockets and of their directories.

        The owners are SlurmUser and SlurmdUser, if their daemons run on this host.
        """
        owners = {0}
        for path in self._paths:
            for place in (Path(path), Path(path).parent):
                with contextlib.suppress(OSError):  # missing, or in a directory that this user may not enter
                    owners.add(place.stat().st_uid)
        return owners

    def make(self, payload: bytes, reader: int) -> bytes:
        """Return a token with this payload that only the user `reader` can verify. Raises CredentialError."""
        request = _request(CREATE, struct.pack(">II", reader, len(payload)) + payload)
        with self._connection(request) as connection:
            (length,) = LENGTH.unpack(connection.read(LENGTH.size))
            if not 1 < length <= TOKEN_LIMIT:
                raise CredentialError("slurm: the daemon on SACK's socket did not make a token")
            token = connection.read(length)
        if token.find(b"\0") != length - 1:
            raise CredentialError("slurm: the daemon on SACK's socket made an invalid token")
        return token[:-1]

    def open(self, credential: bytes) -> Opened:
        """Open a token. Raises CredentialError if it is forged, expired, or not meant for this user alone."""
        if b"\0" in credential:
            raise CredentialError("slurm: this is not a token")
        with self._connection(_request(VERIFY, LENGTH.pack(len(credential) + 1) + credential + b"\0")) as connection:
            if connection.read(LENGTH.size) != VERIFIED:
                raise CredentialError("slurm: the token is invalid")
        claims = read_claims(credential)
        if claims.reader != os.geteuid():
            raise CredentialError("slurm: the token is meant for another user")
        reusable = Reusable(signed_digest(credential), claims.issued, claims.expires)
        return Opened(claims.payload, claims.uid, reusable)

    def _connection(self, request: bytes) -> _Connection:
        return _Connection(self._paths, request, self._timeout_s)


class _Connection:
    """Context manager that sends a request to the first socket in `paths` that exists.

    `timeout_s` limits the whole exchange, including the reading of the reply.
    """

    def __init__(self, paths: tuple[str, ...], request: bytes, timeout_s: float) -> None:
        self._paths = paths
        self._request = request
        self._deadline = time.monotonic() + timeout_s

    def __enter__(self) -> _Connection:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._wait()
            self._socket.connect(next(self._existing(), self._paths[0]))
            self._wait()
            self._socket.sendall(self._request)
        except OSError as error:
            self._socket.close()
            raise _unanswered(self._paths, error) from error
        except BaseException:
            self._socket.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def read(self, size: int) -> bytes:
        """Return `size` bytes of the reply. Raises CredentialError if it is shorter, or does not come in time."""
        data = bytearray()
        while len(data) < size:
            try:
                self._wait()
                more = self._socket.recv(size - len(data))
            except OSError as error:
                raise _unanswered(self._paths, error) from error
            if not more:
                raise CredentialError("slurm: the daemon on SACK's socket refuses the token; its log says why")
            data += more
        return bytes(data)

    def _existing(self) -> Iterator[str]:
        return filter(os.path.exists, self._paths)

    def _wait(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)


def _request(kind: int, data: bytes) -> bytes:
    """Return a request: version, length, kind and data; the length includes its own field, but not the version."""
    return struct.pack(">HII", VERSION, 2 * LENGTH.size + len(data), kind) + data


def _unanswered(paths: tuple[str, ...], error: OSError) -> CredentialError:
    return CredentialError(
        f"slurm: {' and '.join(paths)}: no daemon answers ({error.strerror or error}): start slurmd or sackd, with "
        "AuthType=auth/slurm"
    )
