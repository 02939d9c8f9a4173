# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the Small Read Optimizer's library, and programs to load it into."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.once import built_once

HERE = Path(__file__).parent
SRO = HERE.parents[1] / "accelerators" / "sro"
SHARED = sorted(SRO.parent.glob("*.*"))  # sources that all preloaded libraries share
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
FILE_BYTES = 24 << 20
TMPFS = "tmpfs"
COMPILER = os.environ.get("SPANK_CC", "cc")


def build(target: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    words = [COMPILER, *FLAGS, *flags, *map(str, sources), "-o", str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def programs() -> Path:
    """Return the directory of `libreprise_sro.so`, `pure.so`, `subject` and `player`, built once and kept."""
    files = [*HERE.glob("*.[ch]"), *SRO.glob("*.[ch]"), SRO / "Makefile", *SHARED, Path(__file__)]
    return built_once("sro-programs", COMPILER, files, build_all)


def build_all(directory: Path) -> None:
    subprocess.run(["make", "-s", "-C", str(SRO), f"BUILD={directory}"], check=True, capture_output=True)
    pure = [HERE / "pure.c", *(SRO / f"{name}.c" for name in ("pieces", "settings", "window"))]
    build(directory / "pure.so", *pure, flags=("-shared", "-fPIC", f"-I{SRO}", f"-I{SRO.parent}"))
    build(directory / "subject", HERE / "subject.c")
    build(directory / "player", HERE / "player.c")


@pytest.fixture(scope="session")
def on_disk() -> Iterator[Path]:
    """Yield a directory on a disk, so that files can be dropped from the page cache and read again."""
    directory = Path(mkdtemp(prefix="reprise-sro-", dir="/var/tmp"))
    system = subprocess.run(["stat", "-f", "-c", "%T", directory], capture_output=True, text=True, check=True)
    if system.stdout.strip() == TMPFS:
        pytest.skip("/var/tmp is in memory, where the library does not read ahead")
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def numbers(on_disk: Path) -> Path:
    """Return a file with the content that `subject` expects."""
    path = on_disk / "numbers"
    with path.open("wb") as file:
        array("Q", range(0, FILE_BYTES, 8)).tofile(file)
        file.flush()
        os.fsync(file.fileno())
    return path


@dataclass
class Ran:
    stdout: str
    stderr: str
    status: int
    reports: list[dict[str, Any]]

    @property
    def report(self) -> dict[str, Any]:
        (one,) = self.reports
        return one


@dataclass
class Loaded:
    """Runs programs with the library loaded; `programs` is the directory of the binaries."""

    programs: Path
    directory: Path

    def run(self, *words: object, env: Mapping[str, str] | None = None, prefix: tuple[str, ...] = ()) -> Ran:
        report = self.directory / "report"
        report.unlink(missing_ok=True)
        given = {"SRO_REPORT": str(report), **(env or {}), "LD_PRELOAD": str(self.programs / "libreprise_sro.so")}
        done = subprocess.run(
            [*prefix, "env", *(f"{name}={value}" for name, value in given.items()), *map(str, words)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={"PATH": os.defpath},
        )
        lines = report.read_text().splitlines() if report.exists() else []
        return Ran(done.stdout, done.stderr, done.returncode, [json.loads(line) for line in lines])

    def subject(self, word: str, file: Path, env: Mapping[str, str] | None = None) -> Ran:
        """Run `subject` with the library, check that it behaves as without the library, and return the run."""
        command = [str(self.programs / "subject"), word, str(file)]
        bare = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        loaded = self.run(*command, env=env)
        assert (loaded.stdout, loaded.stderr, loaded.status) == (bare.stdout, bare.stderr, bare.returncode)
        assert loaded.stdout.endswith("done\n") and loaded.status == 0
        return loaded


@pytest.fixture
def loaded(programs: Path, on_disk: Path, tmp_path: Path) -> Loaded:
    directory = on_disk / tmp_path.name
    directory.mkdir()
    directory.chmod(0o777)
    return Loaded(programs, directory)
