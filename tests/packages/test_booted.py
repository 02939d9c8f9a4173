# SPDX-License-Identifier: Apache-2.0
"""Test the packages' systemd units under a running systemd: enabled, hanging, upgraded, and removed while in use."""

from __future__ import annotations

import contextlib
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.matcher.errors import DaemonUnreachableError
from reprise.matcher.wire.client import PING, ask
from tests.matrix.roots import Release
from tests.packages.booted import Booted, booted
from tests.packages.deb import newer, satisfy
from tests.packages.systems import RUNNING, TEST_TIMEOUT_S, WITH_PACKAGES, System, system
from tests.waiting import wait_for

pytestmark = [pytest.mark.packages, pytest.mark.timeout(TEST_TIMEOUT_S)]

UNITS = ("reprise-matcher.socket", "reprise-matcher.service", "reprise-web.socket", "reprise-web.service")
UNSAFE = "-o Dpkg::Options::=--force-unsafe-io"  # no fsync, which saves a minute; the data need not survive a crash
SOCKET = "/run/reprise/matcher.sock"
NOBODY = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
MEMBER = NOBODY.replace("nogroup", "reprise")
TAKE = f"""{NOBODY} python3 -c '
import socket
try:
    socket.create_server(("127.0.0.1", 7818))
    print("taken")
except OSError as error:
    print(error.strerror)
'"""
WATCHDOG_S = 10 + 15  # seconds until systemd notices the hang, plus seconds until it kills the process
FETCH = "python3 -c 'import urllib.request as web; print(web.urlopen(\"http://127.0.0.1:7818/\", timeout=5).status)'"


@pytest.fixture(scope="module", params=WITH_PACKAGES[:1], ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="module")
def machine(release: Release, built: list[Path], place: Path) -> Iterator[System]:
    """Yield a machine with systemd, Slurm and the packages' dependencies, but without Reprise."""
    with system(release, RUNNING, place, "booted") as one:
        one.run(["apt-get", "-q", "update"])
        one.run(["apt-get", "-q", "install", "-y", "--no-install-recommends", "systemd", "python3"])
        satisfy(one, built)
        one.path("/usr/sbin/policy-rc.d").unlink()  # allow packages to start and stop their services
        yield one


def ours(machine: System) -> set[str]:
    return {path for path in machine.files() if "reprise" in path}


def answers(host: Booted) -> bool:
    with contextlib.suppress(DaemonUnreachableError):
        return bool(ask(host.path(SOCKET), PING, 1.0)["kind"] == "ok")
    return False


def serving(host: Booted, after: str = "0") -> str:
    """Wait until all units are active and a matcher other than process `after` answers; return its process id."""

    def up() -> str:
        pid = host.shown("reprise-matcher.service", "MainPID")
        states = [host.shown(unit, "ActiveState") for unit in UNITS]
        return pid if pid not in ("0", after) and set(states) == {"active"} and answers(host) else ""

    return wait_for("the units", up, 60, every_s=0.2)


def installed(host: Booted, machine: System, packages: list[Path]) -> str:
    for path in packages:
        shutil.copy(path, machine.path("/root"))
    said = host.run(f"apt-get -q install -y --no-install-recommends {UNSAFE} /root/*.deb")
    for path in packages:
        (machine.path("/root") / path.name).unlink()
    return said


def test_units_serve_are_restarted_when_they_hang_or_a_new_release_comes_and_end_with_their_package(
    machine: System, built: list[Path], place: Path
) -> None:
    assert ours(machine) == set()
    with booted(machine) as host:
        installed(host, machine, built)
        assert host.run(f"systemctl is-active {' '.join(UNITS)}", check=False).split() == ["inactive"] * len(UNITS)
        host.run(f"systemctl enable --now {' '.join(UNITS)}")
        first = serving(host)
        wait_for("a page", lambda: host.run(FETCH, check=False).strip() == "200", 30, every_s=0.5)
        assert "created, schema version" in host.run("journalctl --no-pager -u reprise-matcher")
        modes = host.run("stat -c %a:%U /var/lib/reprise/reprise.db*").split()
        assert len(modes) == 3 and set(modes) == {"600:reprise"}, (
            "no other user may open the database, because they could lock it"
        )
        host.run(
            "sed -i 's|^#snapshot|snapshot|' /etc/reprise/reprise.toml && systemctl start reprise-snapshot.service"
        )
        assert host.run("stat -c %a:%G /var/lib/reprise/snapshot.db").strip() == "640:reprise"
        assert "as of " in host.run(f"{MEMBER} reprise jobs list")
        assert "may not be read by this user" in host.run(f"{NOBODY} reprise jobs list", check=False)
        host.run("systemctl stop reprise-web.service")
        assert host.run(TAKE).startswith("Address already in use"), "systemd holds the port"
        assert host.run(FETCH).strip() == "200", "a request starts the pages"
        assert "ok       pages" in host.run("reprise doctor", check=False)
        assert "while they restart" not in host.run("journalctl --no-pager -u reprise-web")

        host.run(f"kill -{signal.SIGSTOP.value} {first}")
        wait_for(
            "the watchdog", lambda: host.shown("reprise-matcher", "NRestarts") == "1", WATCHDOG_S + 10, every_s=0.5
        )
        second = serving(host, after=first)

        web = host.shown("reprise-web.service", "MainPID")
        installed(host, machine, [newer(path, place) for path in built])
        serving(host, after=second)
        assert host.run("dpkg-query -W -f '${Version}' reprise").endswith("+next")
        assert host.shown("reprise-web.service", "MainPID") not in ("0", web)
        assert host.shown("reprise-matcher", "NRestarts") == "0", "the daemon ended when systemd stopped it"

        host.run("mkdir -p /etc/slurm && cp /usr/share/reprise/plugstack.conf /etc/slurm/plugstack.conf")
        said = host.run("apt-get -q remove -y reprise reprise-plugin reprise-tools")
        assert "/etc/slurm/plugstack.conf loads spank_reprise.so" in said
        assert host.run("pgrep -u reprise -a", check=False) == ""
        assert not host.path(SOCKET).exists()
        assert host.run("systemctl list-units --no-legend --plain 'reprise*'") == ""
        kept = ("/etc/", "/var/lib/reprise", "/var/lib/systemd/deb-systemd-helper-")
        assert {path for path in ours(machine) if not path.startswith(kept)} == set()
        assert machine.path("/var/lib/reprise/reprise.db").is_file()

        host.run("dpkg --purge reprise reprise-plugin reprise-tools")
        assert ours(machine) == set()
