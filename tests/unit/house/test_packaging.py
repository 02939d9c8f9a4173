# SPDX-License-Identifier: Apache-2.0
"""Test what the packages' scripts do to a host; `make test-packages` installs the packages themselves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

SCRIPTS = ROOT / "packaging" / "debian"
MADE = "mkdir -p /etc/reprise /var/lib/reprise/artifacts && touch /etc/reprise/reprise.toml /var/lib/reprise/reprise.db"
LEFT = "find /etc /var/lib"


def played(script: str, arguments: str, *, before: str = "true", after: str = "true", path: Path | None = None) -> str:
    """Run `before`, the script and `after` with empty private /etc, /run and /var/lib, and return the output."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount file systems")
    mounts = "for at in /etc /run /var/lib; do mount -t tmpfs tmpfs $at || exit; done"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mounts}\n{before} && sh {SCRIPTS / script} {arguments} && {after}"],
        env={**os.environ, "PATH": f"{path or '/nowhere'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "permission denied" in done.stderr.lower():
        pytest.skip("mounting is not permitted here")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_purging_deletes_configuration_and_data() -> None:
    assert played("reprise.postrm", "purge", before=MADE, after=LEFT) == "/etc\n/var/lib\n"


@pytest.mark.parametrize("shared", ["/var/lib/reprise/artifacts", "/var/lib/reprise", "/etc/reprise"])
def test_purging_on_one_host_keeps_shared_file_systems(shared: str) -> None:
    mounted = f"{MADE} && mount -t tmpfs tmpfs {shared} && touch {shared}/of-all"
    left = played("reprise.postrm", "purge", before=mounted, after=LEFT).splitlines()
    assert f"{shared}/of-all" in left
    assert "/var/lib/reprise/reprise.db" not in left and "/etc/reprise/reprise.toml" not in left


def test_removing_deletes_nothing() -> None:
    left = played("reprise.postrm", "remove", before=MADE, after=LEFT).splitlines()
    assert {"/var/lib/reprise/reprise.db", "/etc/reprise/reprise.toml"} <= set(left)


@pytest.mark.parametrize(
    ("before", "asked"), [("", ["sysusers"]), ("0.1", ["sysusers", "daemon-reload", "try-restart"])]
)
def test_an_upgrade_starts_the_units_from_their_new_files(tmp_path: Path, before: str, asked: list[str]) -> None:
    """Without a daemon-reload, systemd would restart a service with its old unit file."""
    log = tmp_path / "log"
    for name, words in (("systemctl", "$1"), ("systemd-sysusers", "sysusers"), ("install", "")):
        (tmp_path / name).write_text(f'#!/bin/sh\n[ -z "{words}" ] || echo "{words}" >> {log}\n')
        (tmp_path / name).chmod(0o755)
    played("reprise.postinst", f"configure {before}", before="mkdir -p /run/systemd/system", path=tmp_path)
    assert log.read_text().split() == asked


def test_no_script_deletes_an_account_or_files_of_others() -> None:
    """Replies are authenticated by the account's id, which another account could get if the account were deleted.

    The RPM's scripts delete nothing at all.
    """
    spec = (ROOT / "packaging" / "reprise.spec").read_text()
    assert "userdel" not in "".join(path.read_text() for path in SCRIPTS.glob("reprise.p*"))
    assert not {"userdel", "groupdel", "rm"} & set(spec.partition("%post\n")[2].split())
