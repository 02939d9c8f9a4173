# SPDX-License-Identifier: Apache-2.0
"""Test `reprise council`: a council that cannot start says why in one line, and a signal stops it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprise.cli.main import reprise
from reprise.config import ConfigError
from reprise.matcher.errors import MatcherError
from tests.waiting import wait_for


def configured(directory: Path, text: str) -> list[str]:
    """Return the beginning of a command with a configuration."""
    file = directory / "reprise.toml"
    file.write_text(
        f'[database]\npath = "{directory}/reprise.db"\n[council]\ndirectory = "{directory}/council"\n{text}'
    )
    return ["--config", str(file), "council"]


def invoked(directory: Path, text: str, *more: str) -> Result:
    return CliRunner().invoke(reprise, [*configured(directory, text), *more])


def test_the_unit_starts_only_if_an_address_is_configured(tmp_path: Path) -> None:
    assert invoked(tmp_path, "", "--configured").exit_code == 1
    assert invoked(tmp_path, 'listen = "127.0.0.1:7819"', "--configured").exit_code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        *('listen = "here"', 'listen = "127.0.0.1"', f'listen = "/{"x" * 107}"', "timeout_s = 0", "harm = -1"),
        *("harm = nan", 'explore = "some"', 'learner = "best"', "record_mb = -1", "forwarder_uid = -1"),
        *('auth = "ssl"', "more = 1"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(tmp_path: Path, wrong: str) -> None:
    found = invoked(tmp_path, wrong)
    assert isinstance(found.exception, ConfigError) and "\n" not in str(found.exception)
    assert "council" in str(found.exception)


def refused(directory: Path, text: str) -> str:
    found = invoked(directory, text)
    assert isinstance(found.exception, MatcherError) and "\n" not in str(found.exception)
    return str(found.exception)


def test_a_council_that_cannot_start_says_why(tmp_path: Path) -> None:
    listen = f'listen = "{tmp_path}/socket"\nauth = "none"\n'
    assert "council.listen is empty" in refused(tmp_path, "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert "set council.listen to" in refused(tmp_path, f'listen = "{address}"\nauth = "none"')
        assert "set council.metrics to" in refused(tmp_path, f'{listen}metrics = "{address}"')
    (tmp_path / "socket").unlink(missing_ok=True)
    (tmp_path / "council/learned.json").write_text("{}")
    assert "remove it to learn again" in refused(tmp_path, listen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_council_and_systemd_knows_its_state(tmp_path: Path, number: signal.Signals) -> None:
    words = [sys.executable, "-m", "reprise", *configured(tmp_path, f'listen = "{tmp_path}/socket"\nauth = "none"\n')]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd, (tmp_path / "log").open("w") as log:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        council = subprocess.Popen(words, stderr=log, env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")})
        try:
            assert systemd.recv(100) == b"READY=1"
            wait_for("the socket", (tmp_path / "socket").exists)
            council.send_signal(number)
            assert systemd.recv(100) == b"STOPPING=1"
            assert council.wait(60) == 0
        finally:
            council.kill()
    assert json.loads((tmp_path / "council/learned.json").read_text()) == {"version": 1, "window": 0, "contexts": {}}
    assert "event=deliberating" in (tmp_path / "log").read_text()
