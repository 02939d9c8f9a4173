# SPDX-License-Identifier: Apache-2.0
"""Test the plugin's Makefile: builds for other Slurm releases, installation, compiler flags and exported symbols."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPANK = HERE.parents[1] / "spank"
HEADERS = Path("/usr/include/slurm")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Build the plugin, and return a copy of its directory."""
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    (tmp_path / "reprise").mkdir()
    shutil.copy2(SPANK.parent / "reprise" / "__init__.py", tmp_path / "reprise")
    return shutil.copytree(SPANK, tmp_path / "spank")


def make(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "-s", "-C", directory, *words], capture_output=True, text=True, check=False)


def test_a_build_for_another_release_than_is_installed_is_not_installed(copy: Path, tmp_path: Path) -> None:
    done = make(copy, "install", f"DESTDIR={tmp_path}/root", "SLURM_RELEASE=99.05")
    line, failed = done.stderr.splitlines()
    assert re.fullmatch(r"spank_reprise\.so: built for Slurm \d\d\.\d\d, .* but 99\.05 is installed: install .*", line)
    assert (done.returncode, failed.endswith("Error 1")) == (2, True)
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("installed", [[], ["SLURM_RELEASE="]], ids=["the same", "not known"])
def test_a_build_for_this_release_is_installed(copy: Path, tmp_path: Path, installed: list[str]) -> None:
    done = make(copy, "install", f"DESTDIR={tmp_path}/root", *installed)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (tmp_path / "root").rglob("*.so")] == ["spank_reprise.so"]


def test_headers_of_a_new_release_cause_a_rebuild_even_if_their_files_are_old(copy: Path, tmp_path: Path) -> None:
    headers = shutil.copytree(HEADERS, tmp_path / "include" / "slurm")
    goal = ["build/allowlist.o", f"CPPFLAGS=-I{tmp_path}/include"]
    assert make(copy, *goal).returncode == 0
    assert make(copy, "-q", *goal).returncode == 0, "the object file is up to date"
    for header in headers.iterdir():
        text = re.sub(r"(#define SLURM_VERSION_NUMBER) 0x\w+", r"\1 0x630500", header.read_text())
        header.write_text(text)
        os.utime(header, (0, 0))
    assert make(copy, "-q", *goal).returncode == 1
    assert make(copy, *goal).returncode == 0
    assert [path.name for path in (copy / "build").glob("slurm-*")] == ["slurm-99.05"]


@pytest.mark.parametrize("level", ["0", "3"])
def test_the_plugin_builds_if_the_flags_already_define_fortify_source(tmp_path: Path, level: str) -> None:
    words = ["make", "-s", "-C", str(SPANK), "-n", "-B", f"CPPFLAGS=-D_FORTIFY_SOURCE={level}", "build/allowlist.o"]
    rule = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    command = next(line for line in rule.splitlines() if " -c " in line).replace("build/", f"{tmp_path}/")
    subprocess.run(["sh", "-ec", command], cwd=SPANK, check=True)


def test_the_installed_object_exports_only_what_slurm_looks_up() -> None:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", str(SPANK / "spank_reprise.so")],
        capture_output=True,
        text=True,
        check=True,
    )
    hooks = {f"slurm_spank_{name}" for name in ("init", "init_post_opt", "user_init", "task_exit")}
    marks = {"plugin_name", "plugin_type", "plugin_version", "spank_plugin_version"}
    assert {line.split()[0] for line in symbols.stdout.splitlines()} == hooks | marks
