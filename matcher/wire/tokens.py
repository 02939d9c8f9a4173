# SPDX-License-Identifier: Apache-2.0
"""Tokens for the web pages: who has one is the user that the kernel, or munge, named when the matcher made it.

They are signed with a key that lies beside the database, which only the matcher's user can read. Nothing is stored of a
token: whoever wants all of them void deletes the key, and starts matcher and pages anew.
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
    """A token is not one of ours, or no longer, or none can be made."""


def key_path(config: Config) -> Path:
    """Where the key lies."""
    return config.database.path.parent / KEY_NAME


def key_of(config: Config) -> str:
    """The key; made where there is none. Raises TokenError."""
    path = key_path(config)
    try:
        with contextlib.suppress(FileNotFoundError):
            return _checked(path)
        _make(path)
        return _checked(path)
    except OSError as error:
        raise TokenError(
            f"{path}: cannot be read or made ({error.strerror}): the matcher's user must be able to write there"
        ) from error


def _checked(path: Path) -> str:
    text = path.read_text(encoding="ascii", errors="replace").strip()
    if len(text) != 2 * KEY_BYTES:
        raise TokenError(f"{path}: is damaged: delete it, and start matcher and pages anew")
    return text


def _make(path: Path) -> None:
    """Whole or not at all, and never over another's that came first. Root leaves it to the directory's owner."""
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
    """A token for this user, from now on."""
    return str(_serializer(key).dumps(uid))


def uid_of(key: str, token: str, lifetime: timedelta) -> int:
    """Whose a token is. Raises TokenError."""
    if len(token) > TOKEN_LIMIT:
        raise TokenError("this is no token: `reprise web token` prints one")
    try:
        uid = _serializer(key).loads(token, max_age=int(lifetime.total_seconds()))
    except SignatureExpired as error:
        raise TokenError("the token has expired: `reprise web token` prints a new one") from error
    except BadData as error:
        raise TokenError("this is no token of this site's: `reprise web token` prints one") from error
    if type(uid) is not int or uid < 0:
        raise TokenError("this is no token of this release's: `reprise web token` prints one")
    return uid


def _serializer(key: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(key, salt="reprise.web")
