# SPDX-License-Identifier: Apache-2.0
"""The client of the doctor: what it says where nobody answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from matcher.client import PING, ask
from matcher.errors import DaemonUnreachableError
from tests.nobody import as_nobody


def test_a_socket_that_a_user_may_not_use_is_not_called_a_daemon_that_is_down(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "matcher.sock"))
        listener.listen()
        (place / "matcher.sock").chmod(0o600)
        with as_nobody(), pytest.raises(DaemonUnreachableError, match="this user may not connect"):
            ask(place / "matcher.sock", PING)
