# SPDX-License-Identifier: Apache-2.0
"""Test that systemd accepts the units, and that the units agree with the configuration's defaults."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reprise.config import Config
from reprise.doctor.probes import COMMAND_TIMEOUT_S
from reprise.matcher.daemon import journal, listener
from tests.places import ROOT

UNITS = ROOT / "etc" / "systemd"


def unit(kind: str, name: str = "reprise-matcher") -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNITS / f"{name}.{kind}")
    return parser


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for path in (*UNITS.iterdir(), *(ROOT / "accelerators/forward/forwarder").glob("*.service")):
        text = re.sub(
            r"/usr/(local/bin/reprise|local/libexec/reprise/reprise-forwarder|sbin/diod)\b",
            "/bin/true",
            path.read_text(),
        )
        (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *map(str, tmp_path.iterdir())],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "reprise" in line]
    assert done.returncode == 0 and not ours, done.stderr


def test_the_socket_is_the_configured_one_and_open_to_everyone() -> None:
    section = unit("socket")["Socket"]
    assert section["ListenStream"] == str(Config().matcher.socket)
    assert section["SocketMode"] == "0666"
    assert int(section["Backlog"]) == listener.BACKLOG


def test_the_service_has_time_to_migrate_a_large_database() -> None:
    section = unit("service")["Service"]
    assert section["ExecStartPre"].endswith(" db init") and section["TimeoutStartSec"] == "1h", (
        "a migration may take longer than systemd's default of 90 s"
    )


def test_settings_are_filled_in_only_before_the_first_start_of_the_matcher() -> None:
    """Later, the file is the admin's; and a matcher must also start where Slurm does not answer."""
    first, matcher = unit("service", "reprise-config"), unit("service")["Unit"]
    assert first["Service"]["ExecStart"].endswith(" config init") and first["Service"]["Type"] == "oneshot"
    assert first["Unit"]["ConditionPathExists"] == f"!{Config().database.path}"
    assert matcher["Wants"] == "reprise-config.service", "not Requires: its failure must not stop the matcher"
    assert "reprise-config.service" in (ROOT / "etc/systemd/reprise-matcher.service").read_text().split("After=")[2]
    assert int(first["Service"]["TimeoutStartSec"]) > 3 * COMMAND_TIMEOUT_S


def test_the_service_has_time_to_write_its_journal_before_it_is_killed() -> None:
    section = unit("service")["Service"]
    needed = 2 * Config().matcher.request_timeout_s + journal.DRAIN_S
    assert int(section["TimeoutStopSec"]) > needed
    assert int(section["LimitNOFILE"]) > 2 * Config().matcher.max_connections


def test_the_web_service_requires_the_socket_that_holds_its_port() -> None:
    assert unit("socket", "reprise-web")["Socket"]["ListenStream"] == Config().web.listen
    service = unit("service", "reprise-web")
    assert service["Unit"]["Requires"] == "reprise-web.socket"
    assert "reprise-web.socket" in service["Unit"]["After"].split()
    assert service["Install"]["Also"] == "reprise-web.socket"


@pytest.mark.parametrize("name", ["reprise-matcher", "reprise-web", "reprise-arbiter", "reprise-council"])
def test_a_service_that_hangs_is_restarted(name: str) -> None:
    section = unit("service", name)["Service"]
    assert (section["Type"], section["NotifyAccess"], section["Restart"]) == ("notify", "main", "on-failure")
    assert int(section["WatchdogSec"]) > 0
