# SPDX-License-Identifier: Apache-2.0
"""Test that the files an application reads are dropped from the page cache, which requires only read access."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprise.tuner.components import component_file
from reprise.tuner.errors import TunerError
from tests.places import ROOT

MIB = 2**20
SRUN = '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n'


def before(component: str, **settings: Any) -> str:
    definition = yaml.safe_load((ROOT / f"etc/components/{component}.yaml").read_text())
    return component_file.read(definition, settings).before


def run(text: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands that drop files from the page cache before a trial, with a fake `srun` on one node."""
    programs = directory / "bin"
    programs.mkdir()
    (programs / "srun").write_text(SRUN)
    (programs / "srun").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", text], env=environment, capture_output=True, text=True, check=False)


def cached(path: Path) -> int:
    """Return the number of bytes of a file that are in the page cache."""
    told = subprocess.run(["fincore", "-nb", "-o", "RES", path], capture_output=True, text=True, check=True)
    return int(told.stdout)


def file_of(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(os.urandom(MIB))
    path.read_bytes()
    return path


@pytest.mark.parametrize("component", ["sro", "fastio"])
def test_named_files_are_dropped_from_the_cache_and_other_files_are_not(component: str, tmp_path: Path) -> None:
    alone, below, other = (file_of(tmp_path / name) for name in ("mesh file.h5", "steps/it's one", "other/file"))
    assert cached(alone) == cached(below) == cached(other) == MIB
    done = run(before(component, reads=[str(alone), str(below.parent)]), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    if cached(alone):
        pytest.skip("this file system keeps dropped files in memory")
    assert cached(below) == 0 and cached(other) == MIB


def test_a_missing_file_fails_the_trial(tmp_path: Path) -> None:
    done = run(before("sro", reads=[f"{tmp_path}/nowhere"]), tmp_path)
    assert done.returncode == 1 and done.stderr == f"reads: {tmp_path}/nowhere cannot be read here\n"


def test_without_the_right_to_drop_all_caches_the_error_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sudo").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin/sudo").chmod(0o755)
    (tmp_path / "bin").rename(tmp_path / "with-sudo")
    done = run(f"PATH={tmp_path}/with-sudo:$PATH\n{before('sro')}", tmp_path)
    assert done.returncode == 1 and "name what the application reads in settings.reads" in done.stderr


@pytest.mark.parametrize("path", ["data", "~/data", "/data\n/other"])
def test_a_path_that_is_not_absolute_is_refused(path: str) -> None:
    with pytest.raises(TunerError, match="reads"):
        before("sro", reads=[path])


def test_a_component_that_drops_no_caches_refuses_the_setting() -> None:
    with pytest.raises(TunerError, match="settings: reads: ompio has no `before_reads`"):
        before("ompio", reads=["/data"])
