# SPDX-License-Identifier: Apache-2.0
"""Tokens with which users sign in to the web pages.

A token contains the user id that the kernel or munge reported when the matcher made the token. Tokens are signed with a
key that is stored next to the database and that only the matcher's user can read. Tokens are not stored. To revoke all
tokens, delete the key, then restart the matcher and the pages.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from datetime import timedelta
from pathlib import Path

from itsdangerous import BadData, SignatureExpired, URLSafeTimedSerializer

from reprise.config import Config
from reprise.matcher.errors import MatcherError

KEY_NAME = "web.key"
KEY_BYTES = 32
TOKEN_LIMIT = 512  # characters


class TokenError(MatcherError):
    """A token is invalid, has expired or cannot be made."""


def key_path(config: Config) -> Path:
    """Return the path of the key with which tokens are signed."""
    return config.database.path.parent / KEY_NAME


def key_of(config: Config) -> str:
    """Return the key with which tokens are signed; create it if it does not exist. Raises TokenError."""
    path = key_path(config)
    try:
        with contextlib.suppress(FileNotFoundError):
            return _checked(path)
        _make(path)
        return _checked(path)
    except OSError as error:
        raise TokenError(
            f"{path}: cannot be read or created ({error.strerror}): let the matcher's user write to its directory"
        ) from error


def _checked(path: Path) -> str:
    text = path.read_text(encoding="ascii", errors="replace").strip()
    if len(text) != 2 * KEY_BYTES:
        raise TokenError(f"{path}: is damaged: delete it, and restart matcher and pages")
    return text


def _make(path: Path) -> None:
    """Create the key atomically, unless another process has created it.

    If this process runs as root, the owner of the directory becomes the owner of the key.
    """
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
            if os.geteuid() == 0:
                owner = path.parent.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)


def make(key: str, uid: int) -> str:
    """Return a token for a user; its lifetime starts now."""
    return str(_serializer(key).dumps(uid))


def uid_of(key: str, token: str, lifetime: timedelta) -> int:
    """Return the user id in a token. Raises TokenError if the token is invalid or older than `lifetime`."""
    if len(token) > TOKEN_LIMIT:
        raise TokenError("invalid token (too long): `reprise web token` prints a new one")
    try:
        uid = _serializer(key).loads(token, max_age=int(lifetime.total_seconds()))
    except SignatureExpired as error:
        raise TokenError("the token has expired: `reprise web token` prints a new one") from error
    except BadData as error:
        raise TokenError("invalid token (not made by this site): `reprise web token` prints a new one") from error
    if type(uid) is not int or uid < 0:
        raise TokenError("invalid token (not made by this release): `reprise web token` prints a new one")
    return uid


def _serializer(key: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(key, salt="reprise.web")
