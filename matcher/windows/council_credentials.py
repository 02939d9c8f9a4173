# SPDX-License-Identifier: Apache-2.0
"""Proof of who sent a line: the council believes certain users, and forwarders believe only the council."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from reprise.config import Config
from reprise.matcher.wire.credentials import CredentialError, credential_settings
from reprise.matcher.wire.munge import Munge

ROOT = 0


@dataclass(frozen=True)
class Proven:
    """Text of a line, and the user who sent it."""

    text: bytes
    uid: int


class Proof(Protocol):
    """Method to seal and open lines. Its calls may block."""

    def open(self, line: bytes) -> Proven:
        """Return the text in a line. Raise CredentialError if its sender is not believed."""

    def seal(self, text: bytes, reader: int) -> bytes:
        """Return a line that proves to the user `reader` that the council wrote it. Raise CredentialError."""


class MungeProof:
    """Lines are credentials of munge, and only some users are believed."""

    def __init__(self, munge: Munge, believed: Collection[int]) -> None:
        self._munge = munge
        self._believed = frozenset(believed)

    def open(self, line: bytes) -> Proven:
        """Return the text in a credential. Raise CredentialError if its author is not believed, or if it was used."""
        opened = self._munge.open(line)
        if opened.uid not in self._believed:
            raise CredentialError(f"user {opened.uid} is neither root nor council.forwarder_uid")
        return Proven(opened.payload, opened.uid)

    def seal(self, text: bytes, reader: int) -> bytes:
        """Return a credential that only `reader` can open."""
        return self._munge.make(text, reader)


class NoProof:
    """Lines are plain text, and whoever connects is believed."""

    def open(self, line: bytes) -> Proven:
        """Return the line."""
        return Proven(line, ROOT)

    def seal(self, text: bytes, reader: int) -> bytes:
        """Return the text."""
        return text


def configured_proof(config: Config) -> Proof:
    """Return the method of the configuration. Raise ServiceError if libmunge cannot be loaded."""
    if config.council.auth == "none":
        return NoProof()
    return MungeProof(Munge(credential_settings(config.matcher).munge_socket), {ROOT, config.council.forwarder_uid})
