# SPDX-License-Identifier: Apache-2.0
"""Python client of the daemon, for Reprise's commands and tests. Jobs use the plugin's client, written in C."""

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
from reprise.matcher.wire.credentials import USUAL, CredentialSettings, Method
from reprise.matcher.wire.methods import method_for_requests

NOT_BELIEVED = (
    "set matcher_uid= and matcher.uid to the user id in the `serving-tcp` line of its log, use a method that this line "
    "names, and compare clocks and the keys of munge or auth/slurm"
)
PING = {"v": protocol.VERSION, "kind": "ping"}


def explain_request(job: str, cluster: str | None = None) -> dict[str, Any]:
    """Return the request to explain a decision about the caller's job.

    `cluster` is the cluster on which the job ran, by default the matcher's.
    """
    return {"v": protocol.VERSION, "kind": "explain", "job": job, "cluster": cluster}


def preview_request(submission: Submission) -> dict[str, Any]:
    """Return the request to preview the decision about a submission, without recording it."""
    fields = vars(submission) | {"script": submission.script and vars(submission.script)}
    fields["set"] = fields.pop("set_names")
    return {"v": protocol.VERSION, "kind": "preview", "submission": fields}


def compare_request(job: str, cluster: str | None, shares: Mapping[str, float], waiting: float) -> dict[str, Any]:
    """Return the request to compare the profile of the caller's job with the profile of the record that it matched."""
    fields = {"job": job, "cluster": cluster, "shares": dict(shares), "waiting": waiting}
    return {"v": protocol.VERSION, "kind": "compare", **fields}


def ask_in_order(
    endpoints: Sequence[Endpoint],
    message: Mapping[str, Any],
    *,
    matcher_uid: int,
    credential: CredentialSettings = USUAL,
    timeout_s: float = 1.0,
    limit: int = protocol.REPLY_LIMIT,
) -> Iterator[tuple[Endpoint, dict[str, Any]]]:
    """Send a request to endpoints in order, and yield each endpoint with its answer.

    The request is sent to the next endpoint only when the caller requests the next item. Endpoints that do not answer,
    or that fail authentication, are skipped. If all endpoints are skipped, raises the error of the only endpoint, or
    DaemonUnreachableError if there are several.
    """
    failed: list[MatcherError] = []
    for endpoint in endpoints:
        try:
            reply = ask_at(endpoint, message, matcher_uid, credential, timeout_s, limit)
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
    credential: CredentialSettings = USUAL,
    timeout_s: float = 1.0,
    limit: int = protocol.REPLY_LIMIT,
) -> dict[str, Any]:
    """Send a request to one endpoint, which is a Unix socket or a TCP address, and return the reply."""
    if endpoint.path:
        return ask(endpoint.path, message, timeout_s, limit)
    where = (endpoint.host, endpoint.port)
    method = method_for_requests(credential)
    return ask_over_tcp(*where, message, method, matcher_uid=matcher_uid, timeout_s=timeout_s, limit=limit)


def ask(
    path: Path, message: Mapping[str, Any], timeout_s: float = 1.0, limit: int = protocol.REPLY_LIMIT
) -> dict[str, Any]:
    """Send one request to a Unix socket, and return the reply, which may have at most `limit` bytes.

    `timeout_s` applies separately to connecting and to each send and receive. Raises DaemonUnreachableError if no
    daemon answers, ProtocolError if the answer is not a valid reply.
    """
    request = protocol.body(message, protocol.REQUEST_LIMIT)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            reply = _exchange(
                connection, request, limit, f"{path}: the daemon closed the connection without an answer: see its log"
            )
    except PermissionError as error:
        raise DaemonUnreachableError(
            f"{path}: this user may not connect: let every user enter its directory and write to the socket"
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
    method: Method,
    *,
    matcher_uid: int,
    timeout_s: float = 1.0,
    limit: int = protocol.REPLY_LIMIT,
) -> dict[str, Any]:
    """Send one request over TCP to a matcher that runs as user `matcher_uid`, and return the reply.

    `timeout_s` does not limit the calls of `method`. Raises the errors of `ask`, and CredentialError if `method` fails.
    """
    where = f"{host}:{port}"
    nonce = os.urandom(protocol.NONCE_BYTES)
    request = method.make(nonce + protocol.body(message, protocol.REQUEST_LIMIT), matcher_uid)
    try:
        with socket.create_connection((host, port), timeout_s) as connection:
            longest = protocol.CREDENTIAL_FACTOR * limit
            reply = _exchange(connection, request, longest, f"{where}: rejects this host: {NOT_BELIEVED}")
    except OSError as error:
        raise DaemonUnreachableError(
            f"{where}: no matcher answers ({error.strerror or error}): set matcher.listen on its host, and let this "
            "host through its firewall"
        ) from error
    opened = method.open(reply)
    if opened.uid != matcher_uid or not opened.payload.startswith(nonce):
        raise ProtocolError(
            f"{where}: the program that answers runs as user {opened.uid}: set matcher_uid= and matcher.uid to the "
            "user that runs the matcher"
        )
    return protocol.read_message(opened.payload.removeprefix(nonce))


def _exchange(connection: socket.socket, request: bytes, limit: int, no_answer: str) -> bytes:
    connection.sendall(protocol.framed(request))
    with connection.makefile("rb") as stream:
        header = stream.read(protocol.HEADER_BYTES)
        if len(header) < protocol.HEADER_BYTES:
            raise ProtocolError(no_answer)
        return stream.read(protocol.body_length(header, limit))
