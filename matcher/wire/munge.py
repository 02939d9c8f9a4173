# SPDX-License-Identifier: Apache-2.0
"""Binding to libmunge, which makes and opens the credentials of munge (credentials.py).

The library is called through ctypes, because the only other binding, pymunge, was last released in 2018. Calls block,
normally for 0.1 ms, but for 10 s while munged hangs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

from reprise.matcher.errors import ServiceError
from reprise.matcher.wire.credentials import CredentialError, MethodName, Opened

LIBRARY = "libmunge.so.2"
# Values from munge.h.
SUCCESS = 0
OPT_SOCKET = 8
OPT_UID_RESTRICTION = 9
ANY_READER = 2**32 - 1
"""Reader of a credential that every user can open."""


class Munge:
    """Encoder and decoder of credentials, using the munged that listens on `socket` ("" for libmunge's default).

    Raises ServiceError if libmunge cannot be loaded.
    """

    name: MethodName = "munge"
    is_secret = True

    def __init__(self, socket: str = "") -> None:
        self._socket = socket.encode()
        try:
            library = ctypes.CDLL(LIBRARY)
            free = ctypes.CDLL(None).free
        except OSError as error:
            raise ServiceError(f"{LIBRARY}: cannot be loaded ({error}): install munge") from error
        library.munge_ctx_create.restype = ctypes.c_void_p
        library.munge_ctx_destroy.argtypes = [ctypes.c_void_p]
        for function in (library.munge_ctx_get, library.munge_ctx_set):
            function.argtypes = [ctypes.c_void_p, ctypes.c_int]  # the type of the third argument depends on the option
        library.munge_ctx_strerror.restype = ctypes.c_char_p
        library.munge_ctx_strerror.argtypes = [ctypes.c_void_p]
        library.munge_encode.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
        library.munge_decode.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 5]
        free.argtypes = [ctypes.c_void_p]
        free.restype = None
        self._library, self._free = library, free

    def is_available(self) -> bool:
        """Return whether munged's socket exists."""
        path = ctypes.c_char_p()
        with self._context() as context:
            self._library.munge_ctx_get(context, OPT_SOCKET, ctypes.byref(path))
            return path.value is not None and os.path.exists(path.value)  # noqa: PTH110 (raises no error)

    def make(self, payload: bytes, reader: int) -> bytes:
        """Return a credential that only the user `reader` can open, or ANY_READER. Raises CredentialError."""
        credential = ctypes.c_char_p()
        with self._context() as context:
            self._library.munge_ctx_set(context, OPT_UID_RESTRICTION, ctypes.c_uint32(reader))
            status = self._library.munge_encode(ctypes.byref(credential), context, payload, len(payload))
            try:
                self._check(status, context)
                return credential.value or b""
            finally:
                self._free(credential)

    def open(self, credential: bytes) -> Opened:
        """Open a credential. Raises CredentialError if it is forged, expired, replayed or meant for another user."""
        payload, size, uid = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint32()
        with self._context() as context:
            status = self._library.munge_decode(
                credential, context, ctypes.byref(payload), ctypes.byref(size), ctypes.byref(uid), None
            )
            try:
                self._check(status, context)
                return Opened(ctypes.string_at(payload, size.value) if payload else b"", uid.value)
            finally:
                self._free(payload)

    @contextlib.contextmanager
    def _context(self) -> Iterator[int]:
        context = self._library.munge_ctx_create()
        if not context:
            raise CredentialError("munge: out of memory")
        try:
            if self._socket:
                self._library.munge_ctx_set(context, OPT_SOCKET, ctypes.c_char_p(self._socket))
            yield context
        finally:
            self._library.munge_ctx_destroy(context)

    def _check(self, status: int, context: int) -> None:
        if status != SUCCESS:
            words = self._library.munge_ctx_strerror(context) or b"no reason given"
            raise CredentialError(f"munge: {words.decode(errors='replace')}")
