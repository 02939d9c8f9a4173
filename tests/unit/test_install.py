# SPDX-License-Identifier: Apache-2.0
"""`make install`: what it puts there, and for whom. (The packages are made by it.)"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.matcher_daemon import ROOT


def make(target: str, directory: Path, *, umask: int = 0o022, below: str = ".") -> str:
    """What `make` says, with `directory` as the root of what it installs."""
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", str(ROOT / below), target, f"DESTDIR={directory}"],
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("target", "below"), [("install-etc", "."), ("install", "spank/fallbacks")])
@pytest.mark.parametrize("umask", [0o027, 0o077, 0o000])
def test_whatever_the_umask_all_may_read_and_none_may_write(
    target: str, below: str, umask: int, tmp_path: Path
) -> None:
    make(target, tmp_path, umask=umask, below=below)
    found = list(tmp_path.rglob("*"))
    assert len(found) > 3
    for path in found:
        runs = path.is_dir() or path.name in ("reprise-ask", "task_prolog")
        assert path.stat().st_mode & 0o777 == (0o755 if runs else 0o644), path
