# SPDX-License-Identifier: Apache-2.0
"""Test that HDF5 settings in environment variables apply unless programs set them, and that nothing else changes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import ROOT, UNIT

pytestmark = pytest.mark.slow

LIBRARY = ROOT / "accelerators/hdf5/build/libreprise_hdf5.so"
SOURCE = UNIT / "hdf5.c"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LOADER = """\
import ctypes, os, sys
ctypes.CDLL("libmpi.so.40", os.RTLD_GLOBAL | os.RTLD_NOW).MPI_Init(None, None)
sys.exit(ctypes.CDLL(sys.argv[1], os.RTLD_LOCAL).run(sys.argv[2].encode(), b"plain"))
"""
DEFAULTS = (1, 1, 2048, 65536, 0)
ALIGNED = {"REPRISE_HDF5_ALIGNMENT": "1048576"}


@dataclass(frozen=True)
class Made:
    """Result of a run: the HDF5 settings of its file, the offset of the second dataset, and standard error."""

    settings: tuple[int, ...]
    second_at: int
    error: str


def flags() -> list[str]:
    argv = ["pkg-config", "--cflags", "--libs", "hdf5-openmpi"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hdf5") / "program"
    subprocess.run(["mpicc", "-Wall", "-Werror", "-o", path, SOURCE, *flags()], check=True)
    return path


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hdf5") / "module.so"
    subprocess.run(["mpicc", "-DLIBRARY", "-fPIC", "-shared", "-o", path, SOURCE, *flags()], check=True)
    return path


def made(*argv: str | Path, preload: str = str(LIBRARY), **variables: str) -> Made:
    with tempfile.TemporaryDirectory() as session:  # without mpirun, Open MPI leaves its session files behind
        environment = {**os.environ, **AS_ROOT, **variables, "LD_PRELOAD": preload, "TMPDIR": session}
        done = subprocess.run(
            [str(word) for word in argv], capture_output=True, text=True, env=environment, timeout=60, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    *settings, second = map(int, done.stdout.splitlines()[0].split())
    return Made(tuple(settings), second, done.stderr)


def test_without_variables_nothing_changes(program: Path, tmp_path: Path) -> None:
    loaded = made(program, tmp_path / "a", "plain")
    assert loaded == made(program, tmp_path / "b", "plain", preload="") and loaded.settings == DEFAULTS
    assert (tmp_path / "a").stat().st_size == (tmp_path / "b").stat().st_size


@pytest.mark.parametrize("mode", ["plain", "list", "mpio"])
def test_files_get_the_settings_that_the_program_has_not_set(program: Path, tmp_path: Path, mode: str) -> None:
    sizes = {
        "REPRISE_HDF5_META_BLOCK": "65536",
        "REPRISE_HDF5_SIEVE_BUFFER": "262144",
        "REPRISE_HDF5_THRESHOLD": "4096",
    }
    found = made(program, tmp_path / "a", mode, **ALIGNED, **sizes, REPRISE_HDF5_METADATA_WRITE="collective")
    assert found.settings == (4096, 1048576, 65536, 262144, int(mode == "mpio"))
    assert found.second_at % 1048576 == 0 and not found.error


def test_settings_of_the_program_itself_are_kept(program: Path, tmp_path: Path) -> None:
    found = made(program, tmp_path / "a", "own", **ALIGNED, REPRISE_HDF5_META_BLOCK="65536")
    assert found.settings == (1, 512, 4096, 65536, 0)


@pytest.mark.parametrize("nonsense", ["", "-1", "1k", "99999999999999999999", "0"])
def test_invalid_values_are_ignored(program: Path, tmp_path: Path, nonsense: str) -> None:
    found = made(
        program, tmp_path / "a", "plain", REPRISE_HDF5_ALIGNMENT=nonsense, REPRISE_HDF5_METADATA_WRITE=nonsense
    )
    assert found.settings == DEFAULTS and not found.error


def test_ranks_write_one_file_with_the_library(program: Path, tmp_path: Path) -> None:
    launcher = ("mpirun", "--oversubscribe", "-np", "2")
    found = made(*launcher, program, tmp_path / "a", "mpio", **ALIGNED, REPRISE_HDF5_METADATA_WRITE="collective")
    assert found.settings[1] == 1048576 and found.settings[4] == 1


def test_a_module_of_an_interpreter_has_its_own_hdf5(module: Path, tmp_path: Path) -> None:
    found = made("python3", "-c", LOADER, module, tmp_path / "a", **ALIGNED)
    assert found.settings == (65536, 1048576, 2048, 65536, 0)


def test_programs_without_hdf5_are_unaffected(tmp_path: Path) -> None:
    done = subprocess.run(
        ["ls", str(tmp_path)],
        env={**os.environ, "LD_PRELOAD": str(LIBRARY), **ALIGNED},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
