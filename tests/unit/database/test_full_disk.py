# SPDX-License-Identifier: Apache-2.0
"""Test the database commands on a full file system and on a read-only file system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.slow

FULL = "its file system is full: make room"
READ_ONLY = "is on a read-only file system and cannot be written: remount it, or set database.path to another"


def outcome(directory: Path, *steps: str) -> str:
    """Run shell commands with the database on a small private file system, and return the last line of output.

    $R is the command `reprise`.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a file system")
    (directory / "reprise.toml").write_text(f'[database]\npath = "{directory}/disk/reprise.db"\n')
    (directory / "disk").mkdir()
    mount = 'mount -t tmpfs -o size=400k tmpfs "$D/disk"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", " && ".join((mount, *steps))],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "D": str(directory),
            "R": f"{sys.executable} -m reprise --config {directory}/reprise.toml",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if "permission denied" in done.stderr.lower():
        pytest.skip("mounting is not permitted here")
    assert done.stderr.count("\n") <= 1 and "Traceback" not in done.stderr, done.stderr
    return (done.stderr or done.stdout).splitlines()[-1]


@pytest.mark.parametrize("command", ["check", "records list", "records retire 1"])
def test_a_full_file_system_is_named_as_the_cause(tmp_path: Path, command: str) -> None:
    fill = '(head -c 1M /dev/zero > "$D/disk/fill" 2> "$D/complaint"; true)'
    assert FULL in outcome(tmp_path, "$R db init", fill, f"$R db {command}")


def test_a_backup_to_a_full_file_system_names_the_backup(tmp_path: Path) -> None:
    mount = 'mkdir "$D/small"', 'mount -t tmpfs -o size=64k tmpfs "$D/small"'
    said = outcome(tmp_path, "$R db init", *mount, '$R db backup "$D/small/b.db"')
    assert f"{tmp_path}/small/b.db: {FULL}" in said


@pytest.mark.parametrize("command", ["init", "records retire 1"])
def test_a_read_only_file_system_is_named_as_the_cause(tmp_path: Path, command: str) -> None:
    remount = 'mount -o remount,ro "$D/disk"'
    assert READ_ONLY in outcome(tmp_path, "$R db init", remount, f"$R db {command}")


def test_a_read_only_file_system_can_be_read(tmp_path: Path) -> None:
    assert "no records" in outcome(tmp_path, "$R db init", 'mount -o remount,ro "$D/disk"', "$R records list")
