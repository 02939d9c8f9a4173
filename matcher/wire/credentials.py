# SPDX-License-Identifier: Apache-2.0
"""Types for credentials, which are messages that prove who wrote them and that only one user can open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from reprise.config import Matcher
from reprise.matcher.errors import ProtocolError

MethodName = Literal["munge", "slurm"]


class CredentialError(ProtocolError):
    """A credential cannot be made, or is refused."""


@dataclass(frozen=True)
class Reusable:
    """Identity of a credential that its method would accept again until it expires.

    `digest` differs for each credential, even if its signature is spelled in another way. `issued` and `expires` are
    Unix times in seconds.
    """

    digest: bytes
    issued: int
    expires: int


@dataclass(frozen=True)
class Opened:
    """The payload of a credential, and the uid of its author.

    `reusable` is None if the method itself refuses to open a credential twice.
    """

    payload: bytes
    uid: int
    reusable: Reusable | None = None


@dataclass(frozen=True)
class CredentialSettings:
    """Method for requests (None: the first that this host has), and sockets of the daemons ("": their usual paths)."""

    method: MethodName | None = None
    munge_socket: str = ""
    sack_socket: str = ""


USUAL = CredentialSettings()


class Method(Protocol):
    """Method to make and open credentials. Its calls block."""

    name: MethodName
    is_secret: bool  # whether the payload of a credential is encrypted for its reader; otherwise, anyone can read it

    def is_available(self) -> bool:
        """Return whether this host has the socket of the method's daemon."""

    def make(self, payload: bytes, reader: int) -> bytes:
        """Return a credential that only the user `reader` can open. Raises CredentialError."""

    def open(self, credential: bytes) -> Opened:
        """Open a credential. Raises CredentialError if it is forged, expired or meant for another user."""


def credential_settings(matcher: Matcher) -> CredentialSettings:
    """Return the settings for credentials, taken from the section `matcher` of the configuration."""
    sockets = (str(path or "") for path in (matcher.munge_socket, matcher.sack_socket))
    return CredentialSettings(matcher.credential, *sockets)
