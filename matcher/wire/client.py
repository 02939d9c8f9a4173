# SPDX-License-Identifier: Apache-2.0
"""A client of the daemon in Python, for our own commands and for tests; jobs are served by the plugin, in C."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.endpoint import Endpoint
from reprise.matcher.errors import DaemonUnreachableError, MatcherError, ProtocolError
from reprise.matcher.submission import Submission
from reprise.matcher.wire import protocol
from reprise.matcher.wire.munge import Munge

NOT_BELIEVED = (
    "set matcher_uid= and matcher.uid to the user id in its log's line `serving-tcp`, and compare munge's keys and the "
    "clocks"
)
PING = {"v": protocol.VERSION, "kind": "ping"}


def explain_request(job: str, cluster: str | None = None) -> dict[str, Any]:
    """Why a job of the caller's got what it got; of another cluster than the matcher's own, if one is given."""
    return {"v": protocol.VERSION, "kind": "explain", "job": job, "cluster": cluster}


def preview_request(submission: Submission) -> dict[str, Any]:
    """What the caller would be given for a submission that is not made."""
    told = vars(submission) | {"script": submission.script and vars(submission.script)}
    told["set"] = told.pop("set_names")
    return {"v": protocol.VERSION, "kind": "preview", "submission": told}


def compare_request(job: str, cluster: str | None, shares: Mapping[str, float], waiting: float) -> dict[str, Any]:
    """Whether a job of the caller's behaves as the record that it matched, by the shares of its profile."""
    told = {"job": job, "cluster": cluster, "shares": dict(shares), "waiting": waiting}
    return {"v": protocol.VERSION, "kind": "compare", **told}


def ask_in_order(
    endpoints: Sequence[Endpoint],
    message: Mapping[str, Any],
    *,
    matcher_uid: int,
    munge_socket: str = "",
    timeout_s: float = 1.0,
    limit: int = protocol.REPLY_LIMIT,
) -> Iterator[tuple[Endpoint, dict[str, Any]]]:
    """The answers, in this order; who has enough with one stops there, and the next is not asked.

    An endpoint that does not answer, or is not believed, is passed over. Raises what was wrong where all are:
    DaemonUnreachableError for several.
    """
    failed: list[MatcherError] = []
    for endpoint in endpoints:
        try:
            reply = ask_at(endpoint, message, matcher_uid, munge_socket, timeout_s, limit)
        except MatcherError as error:
            failed.append(error)
        else:
            yield endpoint, reply
    if len(failed) == len(endpoints) == 1:
        raise failed[0]
    if len(failed) == len(endpoints):
        raise DaemonUnreachableError("; ".join(map(str, failed)))


def ask_at(
    endpoint: Endpoint,
    message: Mapping[str, Any],
    matcher_uid: int,
    munge_socket: str = "",
    timeout_s: float = 1.0,
    limit: int = protocol.REPLY_LIMIT,
) -> dict[str, Any]:
    """Ask at one endpoint, as `ask` or `ask_over_tcp` does."""
    if endpoint.path:
        return ask(endpoint.path, message, timeout_s, limit)
    where = (endpoint.host, endpoint.port)
    return ask_over_tcp(*where, message, Munge(munge_socket), matcher_uid=matcher_uid, timeout_s=timeout_s, limit=limit)


def ask(
    path: Path, message: Mapping[str, Any], timeout_s: float = 1.0, limit: int = protocol.REPLY_LIMIT
) -> dict[str, Any]:
    """Send one request and return the reply, at most `limit` bytes. `timeout_s` holds for each step.

    Raises DaemonUnreachableError where nobody answers, ProtocolError where what comes is not a reply.
    """
    request = protocol.body(message, protocol.REQUEST_LIMIT)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            reply = _exchange(connection, request, limit, f"{path}: the daemon closed without an answer: see its log")
    except PermissionError as error:
        raise DaemonUnreachableError(
            f"{path}: this user may not connect: every user must be able to enter its directory and to write to it"
        ) from error
    except OSError as error:
        raise DaemonUnreachableError(
            f"{path}: no matcher answers ({error.strerror or error}): start it with `systemctl start reprise-matcher`"
        ) from error
    return protocol.read_message(reply)


def ask_over_tcp(
    host: str,
    port: int,
    message: Mapping[str, Any],
    munge: Munge,
    *,
    matcher_uid: int,
    timeout_s: float = 1.0,
    limit: int = protocol.REPLY_LIMIT,
) -> dict[str, Any]:
    """The same over TCP, where the matcher runs as `matcher_uid`; munge may take longer than `timeout_s`.

    Raises CredentialError too, where munge does not do its part.
    """
    where = f"{host}:{port}"
    nonce = os.urandom(protocol.NONCE_BYTES)
    request = munge.make(nonce + protocol.body(message, protocol.REQUEST_LIMIT), matcher_uid)
    try:
        with socket.create_connection((host, port), timeout_s) as connection:
            longest = protocol.CREDENTIAL_FACTOR * limit
            reply = _exchange(connection, request, longest, f"{where}: does not believe this host: {NOT_BELIEVED}")
    except OSError as error:
        raise DaemonUnreachableError(
            f"{where}: no matcher answers ({error.strerror or error}): set matcher.listen on its host and let this "
            "one through its firewall"
        ) from error
    opened = munge.open(reply)
    if opened.uid != matcher_uid or not opened.payload.startswith(nonce):
        raise ProtocolError(
            f"{where}: what answers runs as user {opened.uid}: set matcher_uid= and matcher.uid to the user that runs "
            "the matcher"
        )
    return protocol.read_message(opened.payload.removeprefix(nonce))


def _exchange(connection: socket.socket, request: bytes, limit: int, no_answer: str) -> bytes:
    connection.sendall(protocol.framed(request))
    with connection.makefile("rb") as stream:
        header = stream.read(protocol.HEADER_BYTES)
        if len(header) < protocol.HEADER_BYTES:
            raise ProtocolError(no_answer)
        return stream.read(protocol.body_length(header, limit))
