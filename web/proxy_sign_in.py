# SPDX-License-Identifier: Apache-2.0
"""Users that a reverse proxy names in a header, believed only from the proxy, which proves itself with a secret.

The proxy has signed the user in, for example with OpenID Connect, and puts the user's name into each request. Whoever
else can send a request to the pages could write the same header. So three things must hold: the connection comes from
an address of the proxy, the request has the secret, and each of both headers occurs exactly once.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address

from reprise.config import Web
from reprise.errors import RepriseError
from reprise.eventlog import Throttle
from reprise.matcher.errors import MatcherError
from reprise.secret_file import SecretError, secret_in

log = logging.getLogger(__name__)

SECRET_LEAST = 32
"""Minimum number of characters of the secret: 16 bytes of `openssl rand -hex`, which cannot be guessed."""

Headers = Iterable[tuple[bytes, bytes]]


class ProxySignInError(RepriseError):
    """The configuration of a sign-in by proxy cannot be used."""


class UnknownUserError(MatcherError):
    """The proxy named a user who may not use the pages."""


class ProxySignIn:
    """Reader of the users that the proxy names. Without `web.proxy_secret_file`, no proxy is believed.

    The constructor raises ProxySignInError if the secret cannot be used.
    """

    def __init__(self, settings: Web) -> None:
        self._secret = _secret(settings)
        self._networks = settings.proxy_addresses
        self._domain = settings.proxy_domain
        self._user_header = settings.proxy_user_header.lower().encode()
        self._secret_header = settings.proxy_secret_header.lower().encode()
        self._throttle = Throttle(60.0)

    @property
    def is_on(self) -> bool:
        """Whether a proxy may name users."""
        return bool(self._secret)

    def user(self, headers: Headers, address: str | None) -> str:
        """Return the name of the user that the proxy has signed in, or "" if the request is not one of these.

        `headers` are those of the request as they were received, and `address` is the peer of the connection; None for
        a Unix socket, to which only processes of this host can connect.

        Raise UnknownUserError if the name is of another domain than `web.proxy_domain`.
        """
        if not self._secret:
            return ""
        users, secrets = [], []
        for name, value in headers:
            # servers behind CGI-like gateways take `_` for `-`, so that a header with `_` may pass a proxy that removes
            # the other one: a request with both spellings is not believed
            plain = name.lower().replace(b"_", b"-")
            if plain == self._user_header:
                users.append((name.lower(), value))
            elif plain == self._secret_header:
                secrets.append((name.lower(), value))
        if not users or users == [(self._user_header, b"")]:
            return ""
        if why := self._doubt(users, secrets, address):
            self._throttle.warning(log, "proxy-not-believed", address=address or "unix", why=why)
            return ""
        return self._without_domain(users[0][1].decode("latin-1").strip())

    def _doubt(
        self, users: Sequence[tuple[bytes, bytes]], secrets: Sequence[tuple[bytes, bytes]], address: str | None
    ) -> str:
        """Return why a request that names a user is not the proxy's; "" if it is."""
        if address is not None and not self._is_proxys(address):
            return "the address is not in web.proxy_addresses"
        if len(secrets) != 1 or secrets[0][0] != self._secret_header:
            return "the secret is missing, or there twice"
        if not hmac.compare_digest(secrets[0][1], self._secret):
            return "the secret is wrong"
        if len(users) != 1 or users[0][0] != self._user_header:
            return "the user is named twice, or in a header with underscores"
        return ""

    def _is_proxys(self, address: str) -> bool:
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(found, IPv6Address) and found.ipv4_mapped:
            found = found.ipv4_mapped
        return any(found in network for network in self._networks)

    def _without_domain(self, name: str) -> str:
        if not self._domain:
            return name
        user, _, domain = name.rpartition("@")
        if not user or domain.lower() != self._domain.lower():
            raise UnknownUserError(f"the proxy named {name!r}, who is not of {self._domain} (web.proxy_domain)")
        return user


def _secret(settings: Web) -> bytes:
    if settings.proxy_secret_file is None:
        return b""
    try:
        secret = secret_in(settings.proxy_secret_file, "web.proxy_secret_file")
    except SecretError as error:
        raise ProxySignInError(str(error)) from error
    if len(secret) < SECRET_LEAST:
        raise ProxySignInError(
            f"web.proxy_secret_file: the secret has under {SECRET_LEAST} characters: `openssl rand -hex 32` makes one"
        )
    return secret.encode()
