# SPDX-License-Identifier: Apache-2.0
"""Test the Python client: how it chooses an endpoint, and errors if no daemon answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from reprise.endpoint import Endpoint
from reprise.matcher.errors import DaemonUnreachableError, ProtocolError
from reprise.matcher.wire.client import PING, ask, ask_in_order
from tests.nobody import as_nobody
from tests.unit.matcher_daemon import Daemon


def test_a_socket_without_permission_is_not_reported_as_a_daemon_that_is_down(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "matcher.sock"))
        listener.listen()
        (place / "matcher.sock").chmod(0o600)
        with as_nobody(), pytest.raises(DaemonUnreachableError, match="this user may not connect"):
            ask(place / "matcher.sock", PING)


def test_the_first_endpoint_that_answers_is_used_and_otherwise_all_are_named(daemon: Daemon, place: Path) -> None:
    absent, late = (Endpoint(place / name) for name in ("absent", "late"))
    daemon.start()
    served = Endpoint(daemon.socket)
    assert next(ask_in_order([absent, served, late], PING, matcher_uid=0))[0] == served
    assert [where for where, _ in ask_in_order([absent, served, late], PING, matcher_uid=0)] == [served]
    with pytest.raises(DaemonUnreachableError, match=r"absent: no matcher answers .*; .*late: no matcher answers"):
        list(ask_in_order([absent, late], PING, matcher_uid=0))


def test_the_error_of_a_single_endpoint_is_reported_unchanged(daemon: Daemon) -> None:
    daemon.start()
    with pytest.raises(ProtocolError, match="is not accepted"):
        next(ask_in_order([Endpoint(daemon.socket)], PING, matcher_uid=0, limit=1))
