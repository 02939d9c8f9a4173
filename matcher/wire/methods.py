# SPDX-License-Identifier: Apache-2.0
"""Choice between the methods to make and open credentials."""

from __future__ import annotations

import os
from collections.abc import Mapping

from reprise.matcher.errors import ServiceError
from reprise.matcher.wire.credentials import CredentialError, CredentialSettings, Method, MethodName
from reprise.matcher.wire.munge import Munge
from reprise.matcher.wire.sack import Sack

MUNGE_PREFIX = b"MUNGE:"  # start of every munge credential; a token of Slurm contains no colon
NO_METHOD = (
    "cannot authenticate over TCP: start munged and install libmunge.so.2, or use Slurm's auth/slurm, whose slurmd or "
    "sackd listens on /run/slurm/sack.socket"
)


def method_for_requests(settings: CredentialSettings) -> Method:
    """Return the method of credentials for this host's requests, by the plugin's rules. Raises ServiceError if none."""
    if settings.method == "slurm":
        return Sack(settings.sack_socket)
    try:
        munge = Munge(settings.munge_socket)
    except ServiceError:
        if settings.method:
            raise
    else:
        if settings.method or munge.is_available():
            return munge
    sack = Sack(settings.sack_socket)
    if not sack.is_available():
        raise ServiceError(f"this host {NO_METHOD}")
    return sack


def offered(settings: CredentialSettings) -> Mapping[MethodName, Method]:
    """Return the methods whose credentials a daemon on this host accepts, by name. Raises ServiceError if none.

    The daemon does not accept Slurm tokens while it runs as a user for whom Slurm's own daemons read tokens, or whose
    tokens they trust. Otherwise, whoever intercepts the token of a request or a reply could send it to one of Slurm's
    daemons.
    """
    methods: dict[MethodName, Method] = {}
    problem = NO_METHOD
    try:
        methods["munge"] = Munge(settings.munge_socket)
    except ServiceError as error:
        problem = f"{NO_METHOD} ({error})"
    sack = Sack(settings.sack_socket)
    if sack.is_available() and os.geteuid() in sack.trusted_uids():
        problem = "does not accept tokens of Slurm, because it runs as root or SlurmUser: run it as another user"
    elif sack.is_available():
        methods["slurm"] = sack
    if not methods:
        raise ServiceError(f"the matcher {problem}")
    return methods


def method_of(credential: bytes, methods: Mapping[MethodName, Method]) -> Method:
    """Return the method that made a credential. Raises CredentialError if it is not one of `methods`."""
    name: MethodName = "munge" if credential.startswith(MUNGE_PREFIX) else "slurm"
    if name not in methods:
        raise CredentialError(f"{name}: this matcher does not accept such credentials")
    return methods[name]
