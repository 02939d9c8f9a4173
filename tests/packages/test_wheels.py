# SPDX-License-Identifier: Apache-2.0
"""Check that EL's C library and Pythons can use the files that requirements.lock lists, so that nothing is compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.systems import TEST_TIMEOUT_S
from tests.places import ROOT

pytestmark = [pytest.mark.packages, pytest.mark.timeout(TEST_TIMEOUT_S)]

# The C library of EL 8 is 2.28. A file for an older one also runs with a newer one, so this covers EL 9 and 10.
GLIBC = [5, 12, 17, 24, 26, 27, 28]


def found(python: str, machine: str, glibc: list[int], place: Path) -> subprocess.CompletedProcess[str]:
    """Look up a file for each package of the lock, and download only the files' metadata."""
    tags = [f"manylinux_2_{minor}_{machine}" for minor in glibc] + [f"manylinux{year}_{machine}" for year in (1, 2014)]
    system = ["--python-version", python, "--implementation", "cp", *(f"--platform={tag}" for tag in tags)]
    how = ["--dry-run", "--quiet", "--ignore-installed", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    lock = ["--target", str(place / "none"), "--requirement", str(ROOT / "requirements.lock")]
    command = [sys.executable, "-m", "pip", "install", *how, *system, *lock]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("python", "machine"), [("3.11", "x86_64"), ("3.12", "x86_64"), ("3.11", "aarch64")])
def test_el_8_can_use_a_file_of_every_locked_package(python: str, machine: str, tmp_path: Path) -> None:
    done = found(python, machine, GLIBC, tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_package_without_a_file_for_a_c_library_is_found(tmp_path: Path) -> None:
    assert "No matching distribution found" in found("3.11", "x86_64", [5], tmp_path).stderr
