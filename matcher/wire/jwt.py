# SPDX-License-Identifier: Apache-2.0
"""Contents of the tokens of Slurm's auth/slurm, which are JSON web tokens (RFC 7519, section 7.2).

Nothing here checks a signature: Slurm's daemons do, see `sack.py`. The daemons accept only tokens that they made
themselves, so a token in any form that they do not write is refused.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

import pydantic_core

from reprise.matcher.wire.credentials import CredentialError

CONTEXT = "sack"  # claim `context` of tokens made for other processes; "auth" in the daemons' own tokens
LARGEST_UID = 2**32 - 2
DIGEST_BYTES = 16
_PART = rb"[A-Za-z0-9_-]+"
_TOKEN = re.compile(rb"(%s)\.(%s)\.(%s)" % (_PART, _PART, _PART))


@dataclass(frozen=True)
class Claims:
    """Claims of a token.

    `uid` is the author and `reader` the only user for whom Slurm's daemons verify the token. `issued` and `expires` are
    Unix times in seconds.
    """

    uid: int
    reader: int
    issued: int
    expires: int
    payload: bytes


def read_claims(token: bytes) -> Claims:
    """Return the claims of a token. Raises CredentialError if Slurm does not make such tokens."""
    parts = _TOKEN.fullmatch(token)
    if not parts:
        raise CredentialError("slurm: this is not a token")
    try:
        claims = pydantic_core.from_json(_decoded_url(parts[2]), allow_inf_nan=False)
    except ValueError as error:
        raise CredentialError(f"slurm: the token's claims are not JSON: {error}") from error
    if not isinstance(claims, dict) or claims.get("context") != CONTEXT:
        raise CredentialError(f"slurm: the token's context is not {CONTEXT!r}")
    numbers = {name: _number(claims.get(name), name) for name in ("uid", "ruid", "iat", "exp")}
    if max(numbers["uid"], numbers["ruid"]) > LARGEST_UID:
        raise CredentialError("slurm: the token names no user")
    return Claims(
        uid=numbers["uid"],
        reader=numbers["ruid"],
        issued=numbers["iat"],
        expires=numbers["exp"],
        payload=_payload(claims.get("payload")),
    )


def signed_digest(token: bytes) -> bytes:
    """Return the digest of the part of a token that its signature protects.

    The digest does not cover the signature, because anyone can spell a signature in several ways that decode to the
    same bytes, for example with other unused bits in its last character.
    """
    return hashlib.sha256(token.rpartition(b".")[0]).digest()[:DIGEST_BYTES]


def _number(value: object, name: str) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise CredentialError(f"slurm: the token's {name} is not a number")
    return value


def _payload(value: object) -> bytes:
    """Return the bytes of the claim `payload`, which is in base64 with padding, unlike the token itself."""
    try:
        text = value.encode("ascii") if isinstance(value, str) else b""
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = b""
    if not data or base64.b64encode(data) != text:
        raise CredentialError("slurm: the token has no payload, or one that is not base64")
    return data


def _decoded_url(part: bytes) -> bytes:
    """Return the bytes of a token's part, in base64url without padding. Raises ValueError for any other spelling."""
    data = base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=") != part:
        raise ValueError("unused bits are set")
    return data
